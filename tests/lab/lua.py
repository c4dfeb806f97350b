"""job_submit.lua: the refusals and routes of a shape, in the cluster's own words."""

from __future__ import annotations

from tests.lab.shape import Shape

# How job_submit/lua names what an option set. `--gres` and `--gpus-per-node` cannot be told apart there.
FIELDS = {
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "constraint": "features",
    "time": "time_limit",
    "nodes": "min_nodes",
    "ntasks": "num_tasks",
    "ntasks-per-node": "ntasks_per_node",
    "cpus-per-task": "cpus_per_task",
    "gres": "tres_per_node",
    "gpus-per-node": "tres_per_node",
    "gpus": "tres_per_job",
    "gpus-per-task": "tres_per_task",
    "gpus-per-socket": "tres_per_socket",
    "mem": "pn_min_memory",
    "mem-per-cpu": "pn_min_memory",
    "reservation": "reservation",
    "nodelist": "req_nodes",
    "exclude": "exc_nodes",
    "licenses": "licenses",
    "array": "array_inx",
    "job-name": "name",
    "output": "std_out",
    "chdir": "work_dir",
}


def needs_lua(shape: Shape) -> bool:
    """Return whether the shape has anything to say at submit time."""
    return bool(shape.refusals or shape.routes)


def job_submit(shape: Shape) -> str:
    """Return the plug-in's text; an option that the plug-in cannot see is left out."""
    rules = []
    for one in shape.refusals:
        fields = [FIELDS[option] for option in one.options if option in FIELDS]
        if fields:
            listed = ", ".join(_quoted(field) for field in dict.fromkeys(fields))
            rules.append(
                f"  {{ when = {_quoted(one.when)}, applies = {_quoted(one.applies)}, "
                f"fields = {{ {listed} }}, says = {_quoted(one.says)} }},"
            )
    routes = []
    for route in shape.routes:
        partition, qos, constraint = map(_quoted, route)
        routes.append(f"  {{ partition = {partition}, qos = {qos}, constraint = {constraint} }},")
    tables = "local rules = {\n%s\n}\nlocal routes = {\n%s\n}\n" % ("\n".join(rules), "\n".join(routes))
    return f"{tables}local default_qos = {_quoted(shape.default_qos)}\n{_ENGINE}"


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{plain}"'


# Unset numbers arrive as 65534, 4294967294 or about 1.8e19, not as nil.
_ENGINE = """\
local function given(value)
  if value == nil or value == "" then return false end
  if type(value) == "number" then return value ~= 65534 and value ~= 4294967294 and value < 1.8e19 end
  return true
end

local function wants_gpu(job)
  for _, field in ipairs({ "tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket", "features" }) do
    local value = job[field]
    if given(value) and string.find(tostring(value), "gpu", 1, true) then return true end
  end
  return false
end

local function applies(rule, job)
  if rule.applies == "always" then return true end
  if rule.applies == "gpu" then return wants_gpu(job) end
  return given(job.partition) and string.find("," .. job.partition .. ",", "," .. rule.applies .. ",", 1, true) ~= nil
end

local function breached(rule, job)
  local seen = false
  for _, field in ipairs(rule.fields) do
    if given(job[field]) then seen = true end
  end
  if rule.when == "missing" then return not seen end
  return seen
end

local function routed(job)
  local features = "&" .. (job.features or "") .. "&"
  local qos = given(job.qos) and job.qos or default_qos
  for _, route in ipairs(routes) do
    local right = route.qos == "" or route.qos == qos
    if right and route.constraint ~= "" then
      right = string.find(features, "[&|,]" .. string.gsub(route.constraint, "%-", "%%-") .. "[&|,*]") ~= nil
    end
    if right then return route.partition end
  end
  return nil
end

function slurm_job_submit(job, partitions, uid)
  for _, rule in ipairs(rules) do
    if applies(rule, job) and breached(rule, job) then
      slurm.user_msg(rule.says)
      return slurm.ERROR
    end
  end
  if #routes > 0 and not given(job.partition) then
    local partition = routed(job)
    if partition == nil then return 2066 end -- Invalid qos specification
    job.partition = partition
    job.qos = "" -- none; 26.05 takes no nil
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
"""

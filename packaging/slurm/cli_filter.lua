-- Tells Maple which job id a submission got: `slurm_cli_post_submit` is the only place outside the controller that knows.
--
-- It runs inside sbatch, as the user. All it does is make one empty file whose name says job, process and host; the file's
-- owner is the user, which only the kernel can say. No command is started, nothing is printed, nothing is waited for: the
-- folder has to be on a disk of this host, which Maple's service there looks at. Whatever fails, the submission goes on.
--
-- A site that has a cli_filter.lua already: keep yours, put this file beside it as maple_filter.lua, and add to yours
--   local maple = dofile("/etc/slurm/maple_filter.lua")
-- with a call of maple.begin(options) in slurm_cli_setup_defaults and of maple.told(offset, job_id) in slurm_cli_post_submit.

local SPOOL = "/var/spool/maple/events"

local maple = {}
local command = ""

local function first_line(path, pattern)
  local file = io.open(path, "r")
  if file == nil then return nil end
  local line = file:read(4096)
  file:close()
  return line and string.match(line, pattern)
end

-- proc(5): the id is the first field of stat, the start the 22nd; the name between them may hold blanks and brackets.
local function process()
  local stat = first_line("/proc/self/stat", "^.*$")
  if stat == nil then return nil end
  local id = string.match(stat, "^(%d+) ")
  local rest = string.match(stat, "^.*%) (.*)$")
  if id == nil or rest == nil then return nil end
  local field = 2
  for word in string.gmatch(rest, "%S+") do
    field = field + 1
    if field == 22 then return id, string.match(word, "^%d+$") end
  end
  return nil
end

-- A name that nobody can guess, so that nothing can lie there already, and opening it cannot lead elsewhere or block.
local function random()
  local file = io.open("/dev/urandom", "rb")
  if file == nil then return nil end
  file:setvbuf("no")
  local bytes = file:read(16)
  file:close()
  if bytes == nil or #bytes ~= 16 then return nil end
  return (string.gsub(bytes, ".", function(char) return string.format("%02x", string.byte(char)) end))
end

local function tell(job)
  local id, started = process()
  local host = first_line("/proc/sys/kernel/hostname", "^([%w._-]+)")
  local salt = random()
  if id == nil or started == nil or host == nil or salt == nil then return end
  local name = table.concat({ "submitted", job, id, started, string.sub(host, 1, 64), salt }, ",")
  local file = io.open(SPOOL .. "/" .. name, "a")
  if file ~= nil then file:close() end
end

function maple.begin(options)
  pcall(function() command = tostring(options["type"]) end)
end

function maple.told(offset, job_id)
  pcall(function()
    local job = string.match(tostring(job_id), "^%d+")
    if command == "sbatch" and tonumber(offset) == 0 and job ~= nil then tell(job) end
  end)
end

function slurm_cli_setup_defaults(options, early)
  maple.begin(options)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  maple.told(offset, job_id)
  return slurm.SUCCESS
end

return maple

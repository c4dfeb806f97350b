BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'maple','m001_first','2026-11-22 06:53:49.028712+00:00');
CREATE TABLE counts (day TEXT NOT NULL, code TEXT NOT NULL, place TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL, jobs INTEGER NOT NULL, PRIMARY KEY (day, code, place, verdict, state)) STRICT;
INSERT INTO "counts" VALUES('2001-09-09','MPL301','gpu','repaired','completed',3);
CREATE TABLE decisions (key BLOB PRIMARY KEY, uid INTEGER NOT NULL, learnt BLOB NOT NULL, at REAL NOT NULL) STRICT;
INSERT INTO "decisions" VALUES(X'6B6579',1001,X'6C6561726E74',1000000000.0);
CREATE TABLE outcomes (job TEXT NOT NULL, uid INTEGER NOT NULL, at REAL NOT NULL, told TEXT NOT NULL, PRIMARY KEY (job, uid)) STRICT;
INSERT INTO "outcomes" VALUES('17',1001,1000000000.0,'{"ended":null,"error":"","exit_code":null,"job":"17","name":"","nodes":"","output":"","record":"","script_hash":"","signal":null,"source":"hook","started":null,"state":"completed","submitted":null,"uid":1001,"workdir":""}');
CREATE TABLE part_values (uid INTEGER NOT NULL, part TEXT NOT NULL, told TEXT NOT NULL, PRIMARY KEY (uid, part, told)) STRICT;
INSERT INTO "part_values" VALUES(1001,'p1','["program","train.py","",2,"p1","script"]');
CREATE TABLE records (id TEXT NOT NULL, uid INTEGER NOT NULL, version TEXT NOT NULL, at REAL NOT NULL, job TEXT NOT NULL, told TEXT NOT NULL, PRIMARY KEY (id, uid)) STRICT;
INSERT INTO "records" VALUES('r1',1001,'v1',1000000000.0,'17','{"at":1000000000.0,"codes":["MPL301"],"host":"login1","how":"decided","id":"r1","job":"17","joined":"times","mode":"repair","outcome":null,"pid":4711,"pid_started":99,"submitted_hash":"","uid":1001,"verdict":"repaired","version":"v1"}');
CREATE TABLE versions (id TEXT NOT NULL, uid INTEGER NOT NULL, lineage TEXT NOT NULL, at REAL NOT NULL, told TEXT NOT NULL, script BLOB NOT NULL, PRIMARY KEY (id, uid)) STRICT;
INSERT INTO "versions" VALUES('v1',1001,'train',1000000000.0,'{"argv":["sbatch","train.sh"],"at":1000000000.0,"cwd":"/work/a","id":"v1","lineage":"train","name":"train","parent":"","parts":[["launch","","p1",[2,2]],["config","a.yaml","p2",[0,0]]],"path":"train.sh","scheduler":"slurm","script_hash":"abababababababababababababababababababababababababababababababab","uid":1001,"values":[["program","train.py","",2,"p1","script"]]}',X'789C5356D44FCACCD34F4A2CCEE02A2E2ACD5328A82CC9C8CF5328294ACCCCD32BA8E40200BAEE0B6D');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX decisions_at ON decisions (at);
CREATE INDEX versions_lineage ON versions (uid, lineage, at);
CREATE INDEX versions_at ON versions (at);
CREATE INDEX records_user ON records (uid, at);
CREATE INDEX records_job ON records (job, uid);
CREATE INDEX records_version ON records (uid, version, at);
COMMIT;

import {Miniflare,convertV4MiniflareOptions} from 'miniflare';
import {readFileSync,readdirSync} from 'node:fs';
const mf=new Miniflare(convertV4MiniflareOptions({modules:true,script:'export default {}',d1Databases:{DB:'x'}}));
const db=await mf.getD1Database('DB');
for(const f of readdirSync('migrations').filter(f=>f.endsWith('.sql')).sort()){
  for(const s of readFileSync('migrations/'+f,'utf8').split('--> statement-breakpoint')) if(s.trim()) await db.prepare(s).run();
}
const run=async(sql,...b)=>{const t=Date.now();const r=await db.prepare(sql).bind(...b).all();return [r.meta.rows_read,Date.now()-t,r.results.length,r]};
const N=+process.argv[2]||2000;
const seq=`with recursive n(i) as (select 1 union all select i+1 from n where i<${N})`;
const cols=async t=>(await db.prepare(`pragma table_info(${t})`).all()).results.map(c=>c.name);
for(const t of ['organizations','users','companies','agreements','tickets','api_keys','notes','time_entries','audit_log','key_days','refused_uses','key_policies','pushes','key_reviews','archives']) console.log(t,(await cols(t)).join(','));
await run(`${seq} insert into organizations (id,name,has_psa,time_zone,default_hourly_rate_minor,active) select 'o'||printf('%05d',i),'Org '||i,1,'UTC',10000,1 from n`);
await run(`${seq} insert into users (organization_id,id,email,name,is_admin,is_technician,is_service,active) select 'o'||printf('%05d',i),'ada','ada@x.example','Ada',1,0,0,1 from n`);
await run(`insert into users (organization_id,id,email,name,is_admin,is_technician,is_service,active) select id,'svc','svc@'||id||'.invalid','S',0,0,1,1 from organizations`);
globalThis.x={db,run};
const now=Date.now();
console.log(await cols('api_keys'));
const K=20, D=30;
const kc=await cols('api_keys');
const val={organization_id:'o.id',id:"printf('%08x',o.rowid0*1000+k.i)||'-0000-7000-8000-000000000000'",chain_id:"printf('%08x',o.rowid0*1000+k.i)||'-0000-7000-8000-000000000000'",name:"'k'||k.i",hash:"printf('%064x',o.rowid0*1000+k.i)",hint:"'twb_aaaa…'||printf('%04d',k.i)",scopes:"'notes:write'",limit_quota:'null',limit_window_ms:'null',day_limit_records:'null',day_limit_minutes:'null',allowed_networks:"''",description:"''",owner:"''",revision:'0',created_at:now-90*864e5,created_by:"'ada'",expires_at:`iif(k.i%3=0,${now-1000},null)`,revoked_at:'null',revoked_by:'null',successor_id:'null',form_token:'null'};
await run(`with recursive k(i) as (select 1 union all select i+1 from k where i<${K}), o as (select id, row_number() over (order by id) rowid0 from organizations) insert into api_keys (${kc.join(',')}) select ${kc.map(c=>val[c]??'null').join(',')} from o cross join k`);
const kd=await cols('key_days');
const v2={organization_id:'k.organization_id',chain_id:'k.chain_id',day:"date('now','-'||d.i||' days')",key_id:'k.id',notes:1,time_entries:1,minutes:1,bytes:10,first_seq:1,last_seq:1,last_at:now,last_address:"'1.1.1.1'"};
await run(`with recursive d(i) as (select 0 union all select i+1 from d where i<${D}) insert into key_days (${kd.join(',')}) select ${kd.map(c=>v2[c]??'null').join(',')} from api_keys k cross join d`);
const al=await cols('audit_log');
const v3={organization_id:'o.id',seq:'n.i',at:now,actor_type:"'user'",actor_id:"'ada'",actor_name:"'Ada'",action:"'api_key.changed'",target_id:"'t'",ticket_id:'null',request_id:"'r'||n.i",idempotency_key:'null',source_address:'null',user_agent:'null',detail:'null',day:"'2026-11-22'",day_records:0,day_bytes:0,day_changes:0};
await run(`with recursive n(i) as (select 1 union all select i+1 from n where i<50) insert into audit_log (${al.join(',')}) select ${al.map(c=>v3[c]??'null').join(',')} from organizations o cross join n order by o.id,n.i`);
console.log(await run(`select (select count(*) from api_keys) k,(select count(*) from key_days) d,(select count(*) from audit_log) a`).then(r=>r[3].results));
// statements
const text=readFileSync('test/db/statements.sql','utf8');
const parts=text.split(/^-- /m).slice(1).map(p=>{const [h,...b]=p.split('\n');return [h.trim(),b.join('\n').trim().replace(/;$/,'')]});
const L=Number.MAX_SAFE_INTEGER, org='o00777';
const key=(await db.prepare('select * from api_keys where organization_id=? limit 1').bind(org).first());
const P={organizationId:org,keyId:key.id,chainId:key.id,keyHash:key.hash,hash:key.hash,hint:key.hint,keyIds:JSON.stringify([key.id]),name:'x',userId:'ada',administratorId:'ada',email:'ada@x.example',userEmail:'x',id:'x',note:'x',time_entry:'x',ids:'["x"]',ticketId:null,requestId:null,reviewId:'x',organizationIds:JSON.stringify([org]),formToken:'t',by:'A',reasons:'["scope_missing"]',reason:'scope_missing',beforeKeyId:'~',beforeReason:'~',now,soon:now,since:0,erasedSince:0,until:L,at:0,day:'2026-11-22',limit:1000,examine:1000,length:10,before:L,from:0,after:'',only:org,action:null,seq:0,toSeq:1,object:'x',isPushed:0,waiting:L,full:1,timeZone:'UTC',allowedNetworks:'',bytes:1,minutes:1,message:'x',description:'x',billable:1,keyDayRecords:null,keyDayBytes:null,organizationDayRecords:null,organizationDayBytes:null,
 to:org,firstDay:'2000-01-01',keyRecords:1,keyBytes:1,organizationRecords:1,organizationBytes:1,databaseBytes:9,databaseLimit:10,types:'["key_unused"]',channel:'push',claimedUntil:now,each:10,json:'[]'};
const out=[];
for(const [h,sql] of parts){
  if(!/^\s*(select|with)/i.test(sql)||/^with[\s\S]*?\)\s*(insert|update|delete)/i.test(sql)) continue;
  for(const [how,over] of [['one',{}],['all',{only:null,from:'',to:'~'.repeat(65)}],['text',{before:'~',from:org,to:org}]]){
    const names=[];const s=sql.replace(/'[^']*'|:([A-Za-z]\w*)/g,(m,n)=>{if(n===undefined) return m; let i=names.indexOf(n); if(i<0){names.push(n);i=names.length-1} return '?'+(i+1)});
    const vals=names.map(n=>({...P,...over})[n]);
    const missing=names.filter((n,i)=>vals[i]===undefined);
    if(missing.length){out.push([-1,0,h,how,'missing '+missing]);continue}
    if(how!=='one'&&!names.some(n=>n in over)) continue;
    try{const [rows,ms,n]=await Promise.race([run(s,...vals),new Promise((_,r)=>setTimeout(()=>r(new Error('TIMEOUT 60s')),60000))]);out.push([rows,ms,h,how,n])}catch(e){out.push([1e12,0,h,how,e.message.slice(0,100)]); if(/TIMEOUT/.test(e.message)) console.log('TIMEOUT',h,how)}
  }
}
out.sort((a,b)=>b[0]-a[0]||b[1]-a[1]);
for(const o of out.slice(0,30)) console.log(o.join(' | '));
console.log(out.filter(o=>o[0]<0).map(o=>o.join(' ')).join('\n'));
await mf.dispose();

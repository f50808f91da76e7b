# A database: clients read pages at random and wait for the writers when those are too far behind; ten writers write
# pages, and one writes the log, all around the library's asynchronous calls.
set $dir=/tmp
set $nfiles=10
set $filesize=10m
set $logfilesize=10m
set $iosize=2k
set $nshadows=200
set $ndbwriters=10
set $usermode=200000
set $workingset=0
set $directio=0
set $eventrate=0
set $runtime=60

eventgen rate=$eventrate

define fileset name=pages,path=$dir,entries=$nfiles,size=$filesize,dirwidth=1024,prealloc,reuse
define fileset name=log,path=$dir,entries=1,size=$logfilesize,dirwidth=1024,prealloc,reuse

define process name=logger
{
  thread name=logger,memsize=1m
  {
    flowop aiowrite name=log-write,filesetname=log,iosize=256k,random,dsync,directio=$directio
    flowop aiowait name=log-wait
    flowop semblock name=log-turn,value=3200,highwater=1000
  }
}

define process name=writers,instances=$ndbwriters
{
  thread name=writer,memsize=1m
  {
    flowop aiowrite name=page-write,filesetname=pages,iosize=$iosize,random,dsync,opennext,iters=100,workingset=$workingset,directio=$directio
    flowop hog name=page-work,value=10000
    flowop semblock name=page-turn,value=1000,highwater=2000
    flowop aiowait name=page-wait
  }
}

define process name=clients,instances=$nshadows
{
  thread name=user,memsize=1m
  {
    flowop read name=page-read,filesetname=pages,iosize=$iosize,random,opennext,workingset=$workingset,directio=$directio
    flowop hog name=think,value=$usermode
    flowop sempost name=to-log,target=log-turn,value=1,blocking
    flowop sempost name=to-writers,target=page-turn,value=1,blocking
    flowop eventlimit name=pace
  }
}

run $runtime

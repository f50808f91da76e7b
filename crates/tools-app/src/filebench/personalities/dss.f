# Decision support, Plumb's own: Filebench never shipped a workload of this name. Scans read whole tables in large pieces
# while a few queries look rows up at random; nothing is written.
set $dir=/tmp
set $nfiles=8
set $filesize=1g
set $nscans=4
set $nlookups=8
set $scansize=1m
set $lookupsize=16k
set $directio=0
set $runtime=60

define fileset name=tables,path=$dir,entries=$nfiles,size=$filesize,dirwidth=1024,prealloc,reuse,readonly

define process name=queries
{
  thread name=scan,instances=$nscans,memsize=8m
  {
    flowop openfile name=scan-open,filesetname=tables,fd=1,directio=$directio
    flowop readwholefile name=scan-read,fd=1,iosize=$scansize
    flowop closefile name=scan-close,fd=1
  }
  thread name=lookup,instances=$nlookups,memsize=1m
  {
    flowop read name=lookup-read,filesetname=tables,iosize=$lookupsize,random,opennext,directio=$directio
  }
}

run $runtime

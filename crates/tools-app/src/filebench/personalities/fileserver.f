# A file server's clients: each writes a file, adds to another, reads a third, removes one and looks at one.
set $dir=/tmp
set $nfiles=10000
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
set $nthreads=50
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=shares,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=80

define process name=clients
{
  thread name=user,instances=$nthreads,memsize=10m
  {
    flowop createfile name=make,filesetname=shares,fd=1
    flowop writewholefile name=write,fd=1,srcfd=1,iosize=$iosize
    flowop closefile name=write-close,fd=1
    flowop openfile name=change,filesetname=shares,fd=1
    flowop appendfilerand name=append,fd=1,iosize=$meanappendsize
    flowop closefile name=change-close,fd=1
    flowop openfile name=open,filesetname=shares,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop closefile name=read-close,fd=1
    flowop deletefile name=delete,filesetname=shares
    flowop statfile name=stat,filesetname=shares
  }
}

run $runtime

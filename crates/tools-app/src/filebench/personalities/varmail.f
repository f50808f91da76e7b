# A mail server with a file for each message: delete one, deliver one, read one and add to it, read another.
# What is delivered or added is flushed before its file is closed.
set $dir=/tmp
set $nfiles=1000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=16
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=messages,path=$dir,entries=$nfiles,size=$filesize,dirwidth=1000000,prealloc=80

define process name=mail
{
  thread name=user,instances=$nthreads,memsize=10m
  {
    flowop deletefile name=delete,filesetname=messages
    flowop createfile name=deliver,filesetname=messages,fd=1
    flowop appendfilerand name=deliver-text,fd=1,iosize=$meanappendsize
    flowop fsync name=deliver-flush,fd=1
    flowop closefile name=deliver-close,fd=1
    flowop openfile name=change,filesetname=messages,fd=1
    flowop readwholefile name=change-read,fd=1,iosize=$iosize
    flowop appendfilerand name=change-text,fd=1,iosize=$meanappendsize
    flowop fsync name=change-flush,fd=1
    flowop closefile name=change-close,fd=1
    flowop openfile name=read,filesetname=messages,fd=1
    flowop readwholefile name=read-text,fd=1,iosize=$iosize
    flowop closefile name=read-close,fd=1
  }
}

run $runtime

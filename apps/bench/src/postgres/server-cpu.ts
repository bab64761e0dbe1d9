// Reads the CPU time of a PostgreSQL server, which runs a process for each connection.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readProcessUsage } from '../servers/process-usage.ts'

/** CPU time of each process of a server, ms, by process id. */
export type ServerCpu = ReadonlyMap<number, number>

/** Reads the CPU time of every process of the server in a directory. */
export function readServerCpu(directory: string): ServerCpu {
  const postmaster = Number.parseInt(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8'), 10)
  const pids = [postmaster, ...listProcesses().filter(pid => readParent(pid) === postmaster)]
  return new Map(pids.map(pid => [pid, readProcessUsage(pid).cpuMs]))
}

/** Adds up the CPU time between two readings, ms. A process that has ended in between counts as zero, and a new one with all its time. */
export function sumCpu(cpuBefore: ServerCpu, cpuAfter: ServerCpu): number {
  return [...cpuAfter].reduce((sum, [pid, ms]) => sum + (Number.isNaN(ms) ? 0 : ms - (cpuBefore.get(pid) ?? 0)), 0)
}

function listProcesses(): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
}

/** Reads the parent of a process; undefined once it has ended. The name of a program, in brackets, may hold spaces and brackets. */
function readParent(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

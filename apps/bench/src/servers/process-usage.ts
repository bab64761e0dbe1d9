// Reads the CPU time and memory of another process from `/proc`.
import { readdirSync, readFileSync } from 'node:fs'

/** Resources that a process has used. */
export interface Usage {
  /** The CPU time of all its threads, ms; NaN if the system does not report it. */
  readonly cpuMs: number
  /** The resident memory, bytes; NaN if the system does not report it. */
  readonly rssBytes: number
}

/**
 * Reads CPU time and memory from `/proc` on Linux; on other systems they are unknown. A process that re-executes itself keeps its earlier time. The
 * time of threads that have ended is not included.
 */
export function readProcessUsage(pid: number): Usage {
  try {
    const threadNanos = readdirSync(`/proc/${pid}/task`).map(thread =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    )
    return { cpuMs: threadNanos.reduce((sum, nanos) => sum + nanos, 0) / 1e6, rssBytes: readMemoryField(pid, 'VmRSS') }
  } catch {
    return { cpuMs: Number.NaN, rssBytes: Number.NaN }
  }
}

/** Reads one field of a process's memory in `/proc`, bytes: `VmRSS`, `VmHWM`. @throws Error where there is no such file */
export function readMemoryField(pid: number, fieldName: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${fieldName}:\\s+(\\d+)`).exec(status)?.[1]) * 1024
}

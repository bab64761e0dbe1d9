// Holds a process to a share of one core, by a control group of Linux.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A control group that bounds the CPU time of the processes in it, taken together. */
export interface CpuShare extends AsyncDisposable {
  hold(pid: number): void
}

/** The two generations of control groups, with the folder of the CPU controller. */
const folders = { v1: '/sys/fs/cgroup/cpu', v2: '/sys/fs/cgroup' } as const

/** The period is short, so that a limited process still answers many times per second. */
const periodMicros = 20_000
let groupCount = 0

/**
 * Opens a control group for a share of one core, 0–1. Its disposal waits until its processes have ended.
 * @throws Error if this process may not create such a group
 */
export function openCpuShare(share: number): CpuShare {
  const version = findVersion()
  if (!version)
    throw new Error('This machine has no CPU controller of control groups. Run the bench on Linux with cgroups.')
  const folder = join(folders[version], `postern-bench-${process.pid}-${groupCount++}`)
  try {
    mkdirSync(folder)
    for (const [file, text] of describeShare(version, share)) writeFileSync(join(folder, file), text)
  } catch (cause) {
    throw new Error(`Cannot make the control group ${folder}. Run the bench as root.`, { cause })
  }
  return {
    hold: pid => writeFileSync(join(folder, 'cgroup.procs'), String(pid)),
    [Symbol.asyncDispose]: () => removeGroup(folder),
  }
}

function findVersion(): keyof typeof folders | undefined {
  if (existsSync(join(folders.v1, 'cpu.cfs_quota_us'))) return 'v1'
  const controllers = join(folders.v2, 'cgroup.controllers')
  return existsSync(controllers) && /\bcpu\b/.test(readFileSync(controllers, 'utf8')) ? 'v2' : undefined
}

/** Describes the files of a control group that bound it to a share of one core. */
export function describeShare(
  version: keyof typeof folders,
  share: number,
): readonly (readonly [file: string, text: string])[] {
  const quota = Math.round(periodMicros * share)
  if (version === 'v2') return [['cpu.max', `${quota} ${periodMicros}`]]
  return [
    ['cpu.cfs_period_us', String(periodMicros)],
    ['cpu.cfs_quota_us', String(quota)],
  ]
}

/** Removes a group. The kernel refuses that while a process of the group is still ending. */
async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return rmdirSync(folder)
    } catch (error) {
      if (attempt === 40) throw error
      await sleep(50)
    }
  }
}

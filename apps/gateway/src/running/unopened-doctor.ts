import { resolve } from 'node:path'
import { listConfigFaults } from '../commands/config-fault.ts'
import type { ConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { effectiveConfig } from '../dev/dev-configs.ts'
import type { MachineDeps } from '../doctor/deps.ts'
import { realMachine } from '../doctor/machine-facts.ts'
import { openOutside } from '../doctor/outside.ts'
import type { CheckGroup, DoctorReport } from '../doctor/report.ts'
import { runChecks, runMachineChecks } from '../doctor/run-checks.ts'
import { createPlatform, noLog } from '../platform/platform.ts'

interface UnopenedOptions {
  /** Why there is no gateway to ask. */
  readonly fault: unknown
  readonly groups: readonly CheckGroup[]
  readFile(): Promise<ConfigFile>
}

/** The checks where no gateway could be opened: what asks one is skipped, the rest is asked from here. */
export async function examineUnopenedGateway({ fault, groups, readFile }: UnopenedOptions): Promise<DoctorReport> {
  const { file, config } = await readUsable(readFile)
  const places = config ?? unreadConfig
  const platform = createPlatform(places, { log: noLog, slices: [] })
  const faults = listConfigFaults(fault)
  const machine: MachineDeps = {
    directory: resolve(file?.baseDir ?? process.cwd(), places.data),
    configPath: file?.path,
    facts: realMachine,
    outside: openOutside(platform, places),
    now: platform.now,
    configFaults: config ? [] : faults,
    openFaults: config ? faults : [],
  }
  try {
    return config
      ? await runChecks({ ...machine, config, gateway: undefined, isRunning: false }, groups)
      : await runMachineChecks(machine, groups)
  } finally {
    platform.close()
  }
}

interface UsableFile {
  readonly file?: ConfigFile
  readonly config?: Config
}

async function readUsable(readFile: () => Promise<ConfigFile>): Promise<UsableFile> {
  const file = await readFile().catch(() => undefined)
  if (!file) return {}
  try {
    return { file, config: effectiveConfig(file) }
  } catch {
    return { file }
  }
}

/** What is asked where nothing is known: the machine, and the time. */
const unreadConfig = {
  origin: 'https://unread.invalid',
  data: '.postern',
  dev: false,
  network: { allow_private: [], loopback: {} },
}

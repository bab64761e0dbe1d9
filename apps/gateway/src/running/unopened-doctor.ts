// Checks the installation if the gateway cannot open.

import { resolve } from 'node:path'
import { listConfigFaults, noLog } from '@postern/message'
import type { CheckGroup, DoctorReport, MachineDeps } from '@postern/operator'
import { readMachineFacts } from '@postern/operator'
import { runChecks, runMachineChecks } from '@postern/operator/doctor'
import { minimumNode } from '../../bin/launch.mjs'
import { describeInstallation } from '../compose/doctor-deps.ts'
import { openDoctorNetwork } from '../compose/doctor-network.ts'
import type { ConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { parseEffectiveConfig } from '../dev/dev-configs.ts'
import { createSystem } from '../system/system.ts'

interface UnopenedOptions {
  /** The error that kept the gateway from opening. */
  readonly openError: unknown
  readonly groups: readonly CheckGroup[]
  readFile(): Promise<ConfigFile>
}

/** Runs the checks in this process, without those that need a gateway. */
export async function examineUnopenedGateway({
  openError: fault,
  groups,
  readFile,
}: UnopenedOptions): Promise<DoctorReport> {
  const { file, config } = await readUsableFile(readFile)
  const settings = config ?? fallbackConfig
  const system = createSystem(settings, { log: noLog, slices: [] })
  const faults = listConfigFaults(fault)
  const machine: MachineDeps = {
    directory: resolve(file?.baseDir ?? process.cwd(), settings.data),
    configPath: file?.path,
    facts: readMachineFacts(minimumNode),
    network: openDoctorNetwork(system, settings),
    now: system.now,
    configFaults: config ? [] : faults,
    openFaults: config ? faults : [],
  }
  try {
    return config
      ? await runChecks(
          { ...machine, ...describeInstallation(config, machine), gateway: undefined, isRunning: false },
          groups,
        )
      : await runMachineChecks(machine, groups)
  } finally {
    system.close()
  }
}

interface UsableFile {
  readonly file?: ConfigFile
  readonly config?: Config
}

async function readUsableFile(readFile: () => Promise<ConfigFile>): Promise<UsableFile> {
  const file = await readFile().catch(() => undefined)
  if (!file) return {}
  try {
    return { file, config: parseEffectiveConfig(file) }
  } catch {
    return { file }
  }
}

/** The settings for checks of the machine and the clock if the configuration cannot be read. */
const fallbackConfig = {
  origin: 'https://unread.invalid',
  data: '.postern',
  dev: false,
  network: { allow_private: [], allow_private_push: [], loopback: {} },
}

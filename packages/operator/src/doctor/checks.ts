// Lists the checks of `postern doctor`.
import type { Check, MachineCheck } from './check.ts'
import { agentChecks } from './checks/agents.ts'
import { channelChecks } from './checks/channels.ts'
import { configurationChecks, configurationFaultChecks } from './checks/configuration.ts'
import { discoveryChecks } from './checks/discovery.ts'
import { gatewayChecks, gatewayOpenChecks } from './checks/gateway.ts'
import { machineOnlyChecks } from './checks/machine.ts'
import { networkChecks } from './checks/network.ts'
import { storeChecks } from './checks/store.ts'
import { tlsChecks } from './checks/tls.ts'
import { workChecks } from './checks/work.ts'
import { mailChecks } from './mail/checks.ts'

/** Checks that also run without a readable configuration. */
export const machineChecks: readonly MachineCheck[] = [
  ...machineOnlyChecks,
  ...configurationFaultChecks,
  ...gatewayOpenChecks,
]

/** All other checks. Each is one object in the file of its group. */
export const installationChecks: readonly Check[] = [
  ...configurationChecks,
  ...gatewayChecks,
  ...networkChecks,
  ...tlsChecks,
  ...discoveryChecks,
  ...channelChecks,
  ...mailChecks,
  ...storeChecks,
  ...workChecks,
  ...agentChecks,
]

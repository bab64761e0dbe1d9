import { agentChecks } from './agents/checks.ts'
import { channelChecks } from './channels/checks.ts'
import type { Check, MachineCheck } from './check.ts'
import { configurationChecks, configurationFaultChecks } from './configuration/checks.ts'
import { discoveryChecks } from './discovery/checks.ts'
import { gatewayChecks, gatewayOpenChecks } from './gateway/checks.ts'
import { machineOnlyChecks } from './machine/checks.ts'
import { mailChecks } from './mail/checks.ts'
import { networkChecks } from './network/checks.ts'
import { storeChecks } from './store/checks.ts'
import { tlsChecks } from './tls/checks.ts'
import { workChecks } from './work/checks.ts'

/** Those that run whatever the configuration says. */
export const machineChecks: readonly MachineCheck[] = [
  ...machineOnlyChecks,
  ...configurationFaultChecks,
  ...gatewayOpenChecks,
]

/** THE LIST of the others: a check is one object in the file of its group. */
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

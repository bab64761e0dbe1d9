// Exports the checks of an installation. They load when somebody asks for them.

export { digestAgentNames } from './doctor/agent-names.ts'
export { findMissingNeed, groupOf, outcomeFor } from './doctor/check.ts'
export { checkHandleHost } from './doctor/checks/discovery.ts'
export { judgeServerTransport, judgeServerVersion } from './doctor/checks/store.ts'
export { installationChecks, machineChecks } from './doctor/checks.ts'
export { runChecks, runMachineChecks } from './doctor/run-checks.ts'

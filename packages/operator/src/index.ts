// Exports the operator's API, its routes, and the types of what a gateway gives it.
export type { ApiOperation, OperatorRoute } from './api/operation.ts'
export { defineOperation, handleOperation } from './api/operation.ts'
export type { AnswerMask } from './api/router.ts'
export { createOperationRouter } from './api/router.ts'
export { writeBackupTime } from './backup-time.ts'
export { createAgentRoutes } from './commands/agents/route.ts'
export { createBanRoutes } from './commands/bans/route.ts'
export { createDoctorRoutes } from './commands/doctor/route.ts'
export { createMessageDocumentRoutes } from './commands/documents/route.ts'
export { createEventRoute } from './commands/events/route.ts'
export { createHostRoute } from './commands/hosts/route.ts'
export { messageOperations } from './commands/messages/operations.ts'
export { createOutcomeRoute } from './commands/outcomes/route.ts'
export type { AgentOutcome, ForgottenOwner, PersonForgetting, WithCalls } from './commands/people/route.ts'
export { createForgettingRoutes, peopleOperations } from './commands/people/route.ts'
export { createPruneRoute } from './commands/prune/route.ts'
export { createOperatorQuestions } from './commands/questions/operator-questions.ts'
export { createQuestionRoutes } from './commands/questions/route.ts'
export { createRateRoute } from './commands/rates/route.ts'
export type { ReplayAgent, ReplayRouteDeps } from './commands/replay/route.ts'
export { createReplayRoutes } from './commands/replay/route.ts'
export type { OperatorOptions } from './commands/routes.ts'
export { createOperatorRoutes } from './commands/routes.ts'
export type { EncodedFile, SendProgress, SentMessage } from './commands/send/operations.ts'
export { simulationOperations } from './commands/send/operations.ts'
export type { ListedSetting, SettingList } from './commands/status/route.ts'
export { createStatusRoutes } from './commands/status/route.ts'
export { createSwarmUsageRoute } from './commands/swarm-usage/route.ts'
export { createTranscriptRoutes } from './commands/transcript/route.ts'
export { createWhyRoute } from './commands/why/route.ts'
export type {
  DoctorDeps,
  DoctorNetwork,
  FailedStart,
  MachineDeps,
  OpenedGateway,
  PendingForget,
} from './doctor/deps.ts'
export { describeError } from './doctor/describe-error.ts'
export type { MachineFacts } from './doctor/machine-facts.ts'
export { readMachineFacts } from './doctor/machine-facts.ts'
export { createSelfVisits } from './doctor/network/visits.ts'
export type { CheckGroup, CheckOutcome, DoctorFinding, DoctorReport } from './doctor/report.ts'
export { checkGroups } from './doctor/report.ts'
export type { ReplayPage, ReplayReport } from './replay/report.ts'
export type { ResolvedAddress } from './resolve/resolve-address.ts'
export { resolveAddress } from './resolve/resolve-address.ts'
export type { CardReader } from './resolve/view/a2a.ts'
export type { ResolveSystem } from './resolve/view/peer-fetch.ts'
export { createTokenCheck, requireOperator } from './sign-in/operator-token.ts'
export type { OperatorSessions, SignInCodes } from './sign-in/sessions.ts'
export {
  createOperatorSessions,
  createSignInCodes,
  isFromOwnPage,
  readSession,
  sessionCookie,
} from './sign-in/sessions.ts'
export type { Explanation, WhyAnswer } from './why/explanation.ts'
export { reasonOfRefusal } from './why/rules/refusals.ts'

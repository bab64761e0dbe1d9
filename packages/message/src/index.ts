// Exports the message that all channels share, the agent's response to it, and helpers for text, JSON and errors.
export { decodeBase58, encodeBase58 } from './format/base58.ts'
export { canonicalizeJson, hashCanonicalJson } from './format/canonical-json.ts'
export { isConfigFault, listConfigFaults } from './format/config-fault.ts'
export type { FieldViolation, RejectionCode, RejectionOptions } from './format/errors.ts'
export {
  boundRetryAfter,
  ConfigError,
  InvalidAnswer,
  KeyNotMade,
  LeaseLost,
  maxRetryAfterSeconds,
  Rejection,
  rejectionCodes,
  StateChanged,
  TurnAborted,
  Unavailable,
  Undeliverable,
} from './format/errors.ts'
export {
  describeFaults,
  describeRule,
  parseAgentAnswer,
  parseInput,
} from './format/faults/describe-faults.ts'
export { listIdSpellings } from './format/id-spellings.ts'
export { isoTime } from './format/iso-time.ts'
export type { Json } from './format/json.ts'
export { isJsonObject, parseIfJson, parseJsonText } from './format/json.ts'
export { parseDuration } from './format/text/duration.ts'
export { escapeHtml } from './format/text/html-characters.ts'
export { formatList } from './format/text/list.ts'
export { invisibleFlag, readVisibleText, readVisibleValue } from './format/text/visible-text.ts'
export { toWellFormed } from './format/text/well-formed.ts'
export { withoutTurning, writeVisibleJson } from './format/visible-json.ts'
export type { ParsedUrl } from './format/web-url.ts'
export { isHostLength, maxUrlLength, parseUrl } from './format/web-url.ts'
export { lazy } from './loading/lazy.ts'
export { loadOptionalLibrary } from './loading/optional-library.ts'
export type { ActRefusal, RefusedAct } from './message/actions/act-refusal.ts'
export { isActRefusal, refuseAct } from './message/actions/act-refusal.ts'
export type {
  AgentAction,
  AgentDelete,
  AgentEdit,
  AgentPost,
  AgentReaction,
  AgentReply,
  Reaction,
} from './message/actions/agent-action.ts'
export { agentActionSchema } from './message/actions/agent-action.ts'
export type { OutgoingAction, PostAction, ReactionAction, RevisionAction } from './message/actions/outgoing-action.ts'
export type { Address } from './message/address/address.ts'
export { formatAddress, parseAddress, parseIfAddress, toAsciiDomain } from './message/address/address.ts'
export {
  checkChainGoesOn,
  clampAgentChain,
  defaultMaxHops,
  isFinalHop,
  nextHop,
  renderAgentChain,
} from './message/address/agent-chain.ts'
export { chooseMentions, defaultMaxMentions } from './message/address/choose-mentions.ts'
export {
  callerGroupPrefix,
  callerGroups,
  findDeliveryGroup,
  findShareGroup,
  mailGroup,
} from './message/address/delivery-group.ts'
export type { MentionPolicy } from './message/address/text-mentions.ts'
export {
  boundTextMentions,
  defaultMentionPolicy,
  listNamedAddresses,
  mentionPolicies,
  writeNamesAsText,
} from './message/address/text-mentions.ts'
export type { AgentAccess, ProfileField } from './message/identity/access.ts'
export {
  agentAccessShape,
  hasSubjectPrefix,
  impersonalFlags,
  isLinkField,
  isPersonal,
  mayAccess,
  replayFlag,
  subjectOf,
} from './message/identity/access.ts'
export type { CredentialKind, IdentityEvidence } from './message/identity/identity.ts'
export { identityEvidenceSchema } from './message/identity/identity.ts'
export { listPeopleBehind } from './message/identity/people-behind.ts'
export type { SenderIdentity } from './message/identity/sender-identity.ts'
export { createSenderIdentity } from './message/identity/sender-identity.ts'
export {
  createTransportEvidence,
  formatTransportMethod,
} from './message/identity/transport-evidence.ts'
export type { LoopLimits, StopFlag } from './message/loop-limits.ts'
export { agentFlag, defaultLoopLimits, hopFlag, loopFlag, stopFlags } from './message/loop-limits.ts'
export type {
  AgentChain,
  AuthMethod,
  ChannelName,
  HistoricalMessage,
  HistoricalSender,
  MentionRelay,
  MessageKind,
  NormalizedMessage,
  Sender,
  SenderProfile,
} from './message/message.ts'
export {
  channelNameSchema,
  mentionRelaySchema,
  messageKinds,
  normalizedMessageSchema,
  threadSourceOf,
} from './message/message.ts'
export type {
  AnswerSection,
  ArtifactPart,
  BytesRef,
  ChannelPart,
  FilePart,
  GivenPart,
  LinkPart,
  Part,
  Policy,
  PolicyPart,
  TextPart,
  ToolCallPart,
} from './message/part.ts'
export {
  completeDataPart,
  dataArtifact,
  givenPartSchema,
  knownPartSchema,
  partSchema,
  policySchema,
  sectionOf,
  withoutSection,
} from './message/part.ts'
export { withSafeFileNames } from './message/parts/file-name.ts'
export { isFilePart } from './message/parts/file-part.ts'
export { markForeignFiles, markForeignTurns } from './message/parts/foreign-files.ts'
export { createPieceJoints } from './message/parts/piece-joints.ts'
export { readVisibleParts } from './message/parts/visible-parts.ts'
export { hasRequirements, hideRequirements } from './message/policy/hide-requirements.ts'
export type { ApprovalAction, PolicyResolution, ResolutionOutcome } from './message/policy/policy.ts'
export {
  describeApproval,
  readApproval,
  refusedCall,
  refusedForGood,
  resolutionOutcomes,
} from './message/policy/policy.ts'
export type { Approver, RefusalKind, RequirementKind } from './message/policy/policy-kinds.ts'
export {
  approvers,
  isForOperator,
  isRequirementKind,
  operatorSubject,
  refusalKinds,
  requirementKinds,
} from './message/policy/policy-kinds.ts'
export { policiesOf, statusWithPolicies } from './message/policy/policy-status.ts'
export type { RememberScope } from './message/policy/remember-scope.ts'
export { rememberScopes } from './message/policy/remember-scope.ts'
export type { ShowRequirement } from './message/policy/show-requirements.ts'
export { presentResponse, showRequirements, translatePolicy } from './message/policy/show-requirements.ts'
export type { Proof } from './message/proof.ts'
export type { GivenResponse, NormalizedResponse, PartialResponse, ResponseStatus } from './message/response.ts'
export {
  isStageName,
  maxAnswerBytes,
  normalizedResponseSchema,
  partialResponseSchema,
  responseStatuses,
} from './message/response.ts'
export { showNothing } from './message/text/blank-parts.ts'
export { plainTextOf } from './message/text/plain-text.ts'
export { isQuoted, toQuotedText } from './message/text/quoted-text.ts'
export type { TokenUsage } from './message/token-usage.ts'
export { sumUsage, tokenUsageSchema } from './message/token-usage.ts'
export type { Visibility } from './message/visibility.ts'
export { visibilities } from './message/visibility.ts'
export { leavesInClearText } from './secrets/clear-text.ts'
export { findKeyEnding, makeKeyEnding, restoredSecret } from './secrets/key-ending.ts'
export { hasWebhookKey, readWebhookKey, webhookSecretFix } from './secrets/webhook-key.ts'
export type { BodyBudget, BodyReservation, ByteBudget, ByteReservation } from './system/byte-budget.ts'
export type { DeliveryAttempt, DeliveryReason, DeliveryReply } from './system/delivery-attempt.ts'
export type {
  FetchAnswer,
  FetchRequest,
  GuardedFetch,
  OpenStream,
  StreamAnswer,
  StreamRequest,
} from './system/guarded-fetch.ts'
export { makeId, randomHex } from './system/ids.ts'
export type { IntakeTrace, KeyOrigin, ProofKey, VerifyStep } from './system/intake-trace.ts'
export type { Log, LogFields } from './system/log.ts'
export { bindLog } from './system/log.ts'
export { noLog } from './system/no-log.ts'
export type {
  AbsentObjects,
  ByteStore,
  ObjectStore,
  RemovedObjects,
  StoredObject,
  UnreachableObject,
} from './system/object-store.ts'
export { minObjectBytes } from './system/object-store.ts'
export type { MailEnvelope, SubmitMail } from './system/submit-mail.ts'
export type { DnsResolver, System } from './system/system.ts'
export { openConfiguredOrigins, toConfigured } from './system/system.ts'
export type {
  AgentFault,
  EntryChange,
  GivenMessage,
  ModelRun,
  ToolRun,
  TurnAttempt,
  TurnOutcome,
  TurnReason,
  TurnRecord,
  TurnStep,
} from './system/turn-attempt.ts'

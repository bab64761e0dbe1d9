export { pointToKept } from './actions/plan-actions.ts'
export type { PublisherDeps } from './actions/publisher.ts'
export { createPublisher, performActions } from './actions/publisher.ts'
export { createSyntheticMessage } from './actions/synthetic-message.ts'
export { parseDuration } from './format/duration.ts'
export type { FieldViolation, RejectionCode, RejectionOptions } from './format/errors.ts'
export {
  ConfigError,
  LeaseLost,
  Rejection,
  rejectionCodes,
  TurnAborted,
  Unavailable,
  Undeliverable,
} from './format/errors.ts'
export type { Json } from './format/notations.ts'
export {
  canonicalizeJson,
  decodeBase58,
  decodeEntities,
  encodeBase58,
  escapeHtml,
  hashCanonicalJson,
  isHostLength,
  isJsonObject,
  maxUrlLength,
  parseIfJson,
  parseJsonText,
  parseUrl,
  withoutTurning,
  writeVisibleJson,
} from './format/notations.ts'
export type { SlidingWindowOptions } from './history/history.ts'
export {
  announceSpeaker,
  createSlidingWindowPolicy,
  mergeMessages,
  quoteNames,
  readResultParts,
} from './history/history.ts'
export { lazy } from './loading/lazy.ts'
export { loadOptional } from './loading/optional-library.ts'
export type { ProfileField } from './message/address/access.ts'
export { agentAccessShape, hasSubjectPrefix, isLinkField, replayFlag, subjectOf } from './message/address/access.ts'
export type { Address } from './message/address/address.ts'
export {
  clampAgentChain,
  createSenderIdentity,
  defaultMaxHops,
  defaultMaxMentions,
  findDestinationHost,
  formatAddress,
  formatTransportMethod,
  isFinalHop,
  mintTransportEvidence,
  nextHop,
  parseAddress,
  parseIfAddress,
  renderAgentChain,
  toAsciiDomain,
} from './message/address/address.ts'
export type { IdentityEvidence } from './message/address/identity.ts'
export { identityEvidenceSchema } from './message/address/identity.ts'
export type { AgentAction, AgentPost, Reaction } from './message/agent-action.ts'
export { agentActionSchema } from './message/agent-action.ts'
export type { RememberScope, Visibility } from './message/choices.ts'
export { rememberScopes, visibilities } from './message/choices.ts'
export type { LoopLimits, StopFlag } from './message/loop-limits.ts'
export { agentFlag, defaultLoopLimits, hopFlag, loopFlag, stopFlags } from './message/loop-limits.ts'
export type {
  AgentChain,
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
} from './message/message.ts'
export type { OutgoingAction, PostAction, ReactionAction, RevisionAction } from './message/outgoing-action.ts'
export type {
  ArtifactPart,
  BytesRef,
  FilePart,
  LinkPart,
  Part,
  Policy,
  PolicyPart,
  TextPart,
  ToolCallPart,
} from './message/part.ts'
export { partSchema, policySchema } from './message/part.ts'
export type { ApprovalAction, PolicyResolution, ResolutionOutcome } from './message/policy.ts'
export { describeApproval, readApproval, refusedCall, refusedForGood, resolutionOutcomes } from './message/policy.ts'
export type { Proof } from './message/proof.ts'
export type {
  NormalizedResponse,
  PartialResponse,
  RefusalKind,
  RequirementKind,
  ResponseStatus,
  ShowRequirement,
} from './message/response.ts'
export {
  approvers,
  hasRequirements,
  isFilePart,
  isForOperator,
  isRequirementKind,
  normalizedResponseSchema,
  operatorSubject,
  partialResponseSchema,
  plainTextOf,
  policiesOf,
  presentResponse,
  refusalKinds,
  requirementKinds,
  showRequirements,
  translatePolicy,
} from './message/response.ts'
export type { TokenUsage } from './message/token-usage.ts'
export { sumUsage, tokenUsageSchema } from './message/token-usage.ts'
export { identifySpeaker, readPersonCommand } from './people/person-commands.ts'
export { readChannelAddress, readPersonAddress, showPersonAddress } from './people/person-identity.ts'
export type {
  Agent,
  AgentAnswer,
  AgentChunk,
  AgentContext,
  AgentDirectory,
  AgentProfile,
  AgentPublisher,
  AttachmentBytes,
  PostOptions,
} from './ports/agent/agent.ts'
export type { AgentCallAnswer, AgentCallOptions, CallAgent } from './ports/agent/agent-call.ts'
export type { AgentState } from './ports/agent/agent-state.ts'
export type {
  EvidenceCaller,
  EvidenceClaim,
  EvidenceCode,
  EvidenceVerdict,
  IdentityVerifier,
  LeftOutEvidence,
} from './ports/agent/evidence.ts'
export { ownEvidenceCodes, publishedEvidenceCodes } from './ports/agent/evidence.ts'
export type { HistoryMoment, HistoryPolicy, HistoryView } from './ports/agent/history-policy.ts'
export type {
  ActionDeps,
  MentionFanoutLimits,
  RetryPolicy,
  RunningAgent,
  StoredFiles,
  TurnContext,
} from './ports/agent/turn-context.ts'
export type {
  Addressing,
  AnsweredTurn,
  Channel,
  ChannelContext,
  CheckedProof,
  Inbound,
  IntakeSteps,
  Listening,
  PublicProfile,
  PublishedKey,
  Rehearsal,
  RehearsedCall,
  ReplayMoment,
  RotateOptions,
  Transmitted,
  UsedKey,
  WebLink,
} from './ports/channel.ts'
export { createIntakeSteps, createSender, findChannel, toProofKey } from './ports/channel.ts'
export type { ChannelDescriptor, SpeakerRules } from './ports/channel-descriptor.ts'
export type { AdmissionDeps, AdmissionRule, IntakeStore } from './ports/intake-store.ts'
export type { CurrentMessage, FoundResponse, LookupStore, ResponseContext } from './ports/lookup-store.ts'
export type { ChangeKind, ChangeNotice, NoticeStore, WorkKind } from './ports/notice-store.ts'
export { changeKinds, workKinds } from './ports/notice-store.ts'
export type { OwnThreadStore, PeopleStore } from './ports/people-store.ts'
export type { ByteStore, ObjectStore, StoredObject } from './ports/platform/object-store.ts'
export { leastObjectBytes } from './ports/platform/object-store.ts'
export type {
  ByteBudget,
  ByteHold,
  DnsResolver,
  FetchAnswer,
  FetchRequest,
  GuardedFetch,
  Log,
  LogFields,
  MailEnvelope,
  OpenStream,
  Platform,
  StreamAnswer,
  StreamRequest,
  SubmitMail,
} from './ports/platform/platform.ts'
export { bindLog, isoTime, makeId, randomHex } from './ports/platform/platform.ts'
export type { Admitted, Intake, QueueMode, QueueModeName, TurnBudget, TurnQuota } from './ports/records/intake.ts'
export { maxAborts, mergeBounds, queueModes } from './ports/records/intake.ts'
export type {
  AgentNote,
  KeptNote,
  NoteBody,
  NoteNotice,
  NoteSetting,
  StageNotice,
  TurnNote,
} from './ports/records/note.ts'
export { formatTurnId } from './ports/records/note.ts'
export type { DeliveryPage, ListPeriod, ListWindow, MessagePage, Page, RefusalPage } from './ports/records/page.ts'
export type {
  Forgetting,
  Forgotten,
  LinkAsked,
  LinkConfirmation,
  LinkConfirmed,
  LinkRefusal,
  LinkRequest,
  OwnThread,
  OwnThreads,
  PeopleDeps,
  Person,
  PersonAddress,
  PersonHistoryRequest,
  PersonIdentity,
  PersonLink,
} from './ports/records/people.ts'
export { agentPeopleShape, linkLimits } from './ports/records/people.ts'
export type {
  Blob,
  FetchFile,
  KeptFile,
  PlannedBroadcast,
  PlannedDelivery,
  RelationKind,
} from './ports/records/planned-delivery.ts'
export { relationKinds } from './ports/records/planned-delivery.ts'
export type {
  DeliveryRecord,
  MessageRecord,
  MessageState,
  MessageSummary,
  Refusal,
  RefusalClaims,
  RefusalCode,
  StoreCounts,
} from './ports/records/records.ts'
export type {
  Authorship,
  Bounce,
  Decision,
  KnownMessage,
  Relation,
  RelationEffect,
  RelationKey,
  Withdrawal,
} from './ports/records/relation.ts'
export { withdrawalMemoryMs } from './ports/records/relation.ts'
export type {
  PlannedRequirement,
  RequirementDecision,
  RequirementObjection,
  RequirementRecord,
  RequirementStatus,
  Resolved,
  UsedReceipt,
} from './ports/records/requirement-record.ts'
export { maxOpenRequirements } from './ports/records/requirement-record.ts'
export type {
  SettledTask,
  TaskExpiry,
  TaskFilter,
  TaskIntake,
  TaskKey,
  TaskRecord,
  TaskState,
  TaskWatch,
  WatchTarget,
} from './ports/records/task.ts'
export { maxWatches } from './ports/records/task.ts'
export type { BackgroundEntry, Entry } from './ports/records/transcript.ts'
export type { Downtime, WhyDelivery, WhyRecord } from './ports/records/why-record.ts'
export type {
  Answer,
  Broadcast,
  Delivery,
  DeliveryRank,
  LeaseRequest,
  Planned,
  PlannedAction,
  Settlement,
  Turn,
} from './ports/records/work.ts'
export { beginningOf } from './ports/records/work.ts'
export type {
  ListedDecision,
  OverdueStore,
  RememberedDecision,
  RememberedStore,
  RequirementClaim,
  RequirementClaims,
  RequirementDecisions,
  RequirementDeps,
  RequirementStore,
} from './ports/requirement-store.ts'
export { rememberedDecisionSchema, rememberedKind } from './ports/requirement-store.ts'
export type {
  Lookup,
  MessageTiming,
  OnceStore,
  OperatorStore,
  RelationStore,
  ReplayStore,
  Store,
  StoredArrival,
  TaskStore,
  TraceStore,
  WaitingHost,
  WhyStore,
  WhySubject,
  WhyWords,
  WithdrawalStore,
} from './ports/store.ts'
export { windowedLists } from './ports/store.ts'
export type {
  DeliveryAttempt,
  DeliveryReply,
  EntryChange,
  IntakeTrace,
  KeyOrigin,
  ProofKey,
  TurnAttempt,
  TurnRecord,
  VerifyStep,
} from './ports/trace/trace.ts'
export type { DeliveryTaker, DeliveryTicket, TurnTaker, TurnTicket, WorkStore, WorkTaker } from './ports/work-store.ts'
export type {
  ApprovalCall,
  OperatorApproval,
  OperatorApprovals,
  OperatorQuestions,
  OperatorWord,
  WaitingQuestion,
} from './requirements/operator-approval.ts'
export {
  listRememberedIds,
  mayBeRemembered,
  mostRemembered,
  personKeyOf,
  planRemembered,
  readRemember,
  rememberedPlace,
} from './requirements/remembered-decision.ts'
export { actionUrl, createRequirementList, createShowRequirement } from './requirements/requirements.ts'
export {
  createResolutionIntake,
  decideByTimeout,
  describeObjection,
  describeResolution,
  refuseClaim,
  refuseResolution,
  resolutionIdOf,
  sayOverdue,
  timeoutMethod,
} from './requirements/resolution-intake.ts'
export { collectAnswer, completeResponse } from './turn/answer.ts'
export { defaultRetryPolicy } from './turn/retry.ts'
export { rebuildGiven } from './turn/trace/rebuilt-given.ts'
export { isTurnNews, readAbortKind, workTurn } from './turn/turn.ts'
export { createAccessRule, createRequirementDecisions } from './worker/admission/access-rule.ts'
export type { LoopMemory, RefusalPlace } from './worker/receive.ts'
export {
  admitOwn,
  createLoopRule,
  findLoop,
  hasRefusal,
  loopMemoryMs,
  receive,
  recordRefusal,
} from './worker/receive.ts'
export type { LeftAloneHost } from './worker/send.ts'
export { createBreaker, renderUnsent } from './worker/send.ts'
export { createOneByOne } from './worker/work-pool.ts'
export type { Worker, WorkerOptions } from './worker/worker.ts'
export { startWorker } from './worker/worker.ts'

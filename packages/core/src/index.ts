export { agentAccessShape, createSenderIdentity, hasSubjectPrefix } from './access.ts'
export { guardAccess } from './access-store.ts'
export type { Address } from './address.ts'
export { formatAddress, parseAddress, toAsciiDomain } from './address.ts'
export type {
  Agent,
  AgentAnswer,
  AgentChunk,
  AgentContext,
  AgentDirectory,
  AgentProfile,
  AgentState,
  AttachmentBytes,
  PostOptions,
} from './agent.ts'
export type { AgentAction, AgentPost, Reaction } from './agent-action.ts'
export { agentActionSchema } from './agent-action.ts'
export type { AgentCallAnswer, AgentCallOptions, CallAgent } from './agent-call.ts'
export { collectAnswer, completeResponse } from './answer.ts'
export type { ApprovalAction, RememberScope } from './approval.ts'
export { describeApproval, readApproval, refusedCall, refusedForGood, rememberScopes } from './approval.ts'
export { approvers, isForOperator, operatorSubject } from './approver.ts'
export { decodeBase58, encodeBase58 } from './base58.ts'
export { bindLog } from './bind-log.ts'
export { createBreaker } from './breaker.ts'
export type { ByteBudget, ByteHold } from './byte-budget.ts'
export { clampAgentChain, defaultMaxHops, isFinalHop, nextHop, renderAgentChain } from './chain.ts'
export type {
  Addressing,
  AnsweredTurn,
  Channel,
  ChannelContext,
  Inbound,
  Listening,
  Outbound,
  PublicProfile,
  PublishedKey,
  RotateOptions,
  WebLink,
} from './channel.ts'
export { createSender } from './channel.ts'
export { findDestinationHost } from './destination-host.ts'
export type { FieldViolation, RejectionCode, RejectionOptions } from './errors.ts'
export {
  ConfigError,
  LeaseLost,
  Rejection,
  readAbortKind,
  rejectionCodes,
  TurnAborted,
  Unavailable,
  Undeliverable,
} from './errors.ts'
export type {
  EvidenceCaller,
  EvidenceClaim,
  EvidenceCode,
  EvidenceVerdict,
  IdentityVerifier,
  LeftOutEvidence,
} from './evidence.ts'
export { ownEvidenceCodes, publishedEvidenceCodes } from './evidence.ts'
export type { HistoryMoment, HistoryPolicy, HistoryView, SlidingWindowOptions } from './history.ts'
export { announceSpeaker, createSlidingWindowPolicy, quoteNames } from './history.ts'
export { decodeEntities, escapeHtml } from './html-characters.ts'
export type { IdentityEvidence } from './identity.ts'
export { identityEvidenceSchema, mintTransportEvidence, transportMethods } from './identity.ts'
export type {
  Admitted,
  Blob,
  Intake,
  PlannedBroadcast,
  PlannedDelivery,
  Proof,
  TaskIntake,
  TaskKey,
  TaskWatch,
  TurnBudget,
  TurnQuota,
  WatchTarget,
} from './intake.ts'
export { maxWatches } from './intake.ts'
export { canonicalizeJson } from './jcs.ts'
export type { Json } from './json.ts'
export type { FetchFile, KeptFile } from './keep-files.ts'
export { pointToKept } from './keep-files.ts'
export type { LoopLimits, LoopMemory, StopFlag } from './loop.ts'
export {
  agentFlag,
  defaultLoopLimits,
  findLoop,
  guardLoops,
  hopFlag,
  loopFlag,
  loopMemoryMs,
  stopFlags,
} from './loop.ts'
export { defaultMaxMentions } from './mention.ts'
export type { MentionFanoutLimits } from './mention-fanout.ts'
export { mergeMessages } from './merge-messages.ts'
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
} from './message.ts'
export { channelNames, mentionRelaySchema, mentionRelays, messageKinds, normalizedMessageSchema } from './message.ts'
export type { AgentNote, KeptNote, NoteBody, NoteNotice, NoteSetting, StageNotice, TurnNote } from './note.ts'
export { formatTurnId, isTurnNews } from './note.ts'
export type { ByteStore, ObjectStore, StoredObject } from './object-store.ts'
export { leastObjectBytes } from './object-store.ts'
export type {
  ApprovalCall,
  OperatorApproval,
  OperatorApprovals,
  OperatorQuestions,
  OperatorWord,
  WaitingQuestion,
} from './operator-approval.ts'
export type { OutgoingAction, PostAction, ReactionAction, RevisionAction } from './outgoing-action.ts'
export type { OverdueStore } from './overdue.ts'
export { decideByTimeout, sayOverdue, timeoutMethod } from './overdue.ts'
export { parseJsonText } from './parse-json-text.ts'
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
} from './part.ts'
export { partSchema, plainTextOf, policySchema } from './part.ts'
export type {
  Forgetting,
  Forgotten,
  LinkAsked,
  LinkConfirmation,
  LinkConfirmed,
  LinkRefusal,
  LinkRequest,
  OwnThread,
  OwnThreadStore,
  OwnThreads,
  PeopleDeps,
  PeopleStore,
  Person,
  PersonAddress,
  PersonHistoryRequest,
  PersonIdentity,
  PersonLink,
} from './people.ts'
export { agentPeopleShape, linkLimits } from './people.ts'
export { formatChatOwner, readPersonAddress, replayFlag, showPersonAddress } from './person-identity.ts'
export { receive, recordRefusal } from './pipeline.ts'
export type { ActionDeps, StoredFiles } from './plan-actions.ts'
export type {
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
} from './platform.ts'
export { isoTime, randomHex } from './platform.ts'
export type { RefusalKind, RequirementKind } from './policy-kinds.ts'
export { isRequirementKind, policiesOf, refusalKinds } from './policy-kinds.ts'
export type { PolicyResolution, ResolutionOutcome } from './policy-resolution.ts'
export { resolutionOutcomes } from './policy-resolution.ts'
export type { ProfileField } from './profile-field.ts'
export { isLinkField } from './profile-field.ts'
export type { PublisherDeps } from './publisher.ts'
export { createPublisher, performActions } from './publisher.ts'
export type { QueueMode, QueueModeName } from './queue-mode.ts'
export { identifySpeaker, maxAborts, mergeBounds, queueModes } from './queue-mode.ts'
export type { DeliveryRecord, MessageRecord, MessageState, MessageSummary, Refusal, StoreCounts } from './records.ts'
export type {
  Authorship,
  Bounce,
  Decision,
  KnownMessage,
  Relation,
  RelationEffect,
  RelationKey,
  RelationKind,
  RelationStore,
  Withdrawal,
  WithdrawalStore,
} from './relation.ts'
export { relationKinds, withdrawalMemoryMs } from './relation.ts'
export type { ListedDecision, RememberedDecision, RememberedStore } from './remembered-decision.ts'
export {
  listRememberedIds,
  mayBeRemembered,
  mostRemembered,
  personKeyOf,
  planRemembered,
  readRemember,
  rememberedDecisionSchema,
  rememberedKind,
  rememberedPlace,
} from './remembered-decision.ts'
export type {
  PlannedRequirement,
  RequirementClaim,
  RequirementClaims,
  RequirementDecision,
  RequirementDeps,
  RequirementObjection,
  RequirementRecord,
  RequirementStatus,
  RequirementStore,
  Resolved,
  UsedReceipt,
} from './requirement.ts'
export { maxOpenRequirements, subjectOf } from './requirement.ts'
export { actionUrl, createRequirementList } from './requirement-list.ts'
export { describeObjection, refuseClaim, refuseResolution } from './requirement-refusals.ts'
export { createResolutionIntake, describeResolution, resolutionIdOf } from './resolution-intake.ts'
export type { NormalizedResponse, PartialResponse, ResponseStatus } from './response.ts'
export { normalizedResponseSchema, partialResponseSchema } from './response.ts'
export { readResultParts } from './result-parts.ts'
export type { RetryPolicy } from './retry.ts'
export { defaultRetryPolicy } from './retry.ts'
export type { ShowRequirement } from './show-requirements.ts'
export {
  createShowRequirement,
  hasRequirements,
  presentResponse,
  showRequirements,
  translatePolicy,
} from './show-requirements.ts'
export type {
  CurrentMessage,
  FoundResponse,
  IntakeStore,
  LookupStore,
  NoticeStore,
  OnceStore,
  OperatorStore,
  ResponseContext,
  Store,
  TaskStore,
  WorkStore,
} from './store.ts'
export { createSyntheticMessage } from './synthetic-message.ts'
export type { TokenUsage } from './token-usage.ts'
export { sumUsage, tokenUsageSchema } from './token-usage.ts'
export type { BackgroundEntry, Entry, TaskExpiry, TaskFilter, TaskRecord, TaskState } from './transcript.ts'
export { workTurn } from './turn.ts'
export type { RunningAgent, TurnContext } from './turn-context.ts'
export type { Visibility } from './visibility.ts'
export { visibilities } from './visibility.ts'
export { withoutTurning, writeVisibleJson } from './visible-json.ts'
export { isHostLength, maxUrlLength, parseUrl } from './web-url.ts'
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
} from './work.ts'
export { beginningOf } from './work.ts'
export type { Worker, WorkerOptions } from './worker.ts'
export { startWorker } from './worker.ts'

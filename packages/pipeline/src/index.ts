// Exports the processing of messages: the ports, the turn of an agent, and the worker.
export { replaceStoredLinks } from './actions/plan-actions.ts'
export type { PublisherDeps } from './actions/publisher.ts'
export { createPublisher, performActions } from './actions/publisher.ts'
export { createSyntheticMessage } from './actions/synthetic-message.ts'
export { mergeMessages } from './history/merge-messages.ts'
export { listMessagesOfTurn } from './history/merge-turns.ts'
export { readResultParts } from './history/result-parts.ts'
export type { SlidingWindowOptions } from './history/sliding-window.ts'
export { createSlidingWindowPolicy } from './history/sliding-window.ts'
export { createSpeakerLine, quoteSpeakerLines } from './history/speaker-names.ts'
export { listForgotten } from './people/forgotten-people.ts'
export { readPersonCommand } from './people/person-commands.ts'
export {
  listChannelAddresses,
  readChannelAddress,
  showPersonAddress,
} from './people/person-identity.ts'
export { createSpeakerKey } from './people/speaker-key.ts'
export type { AdmissionDeps, AdmissionRule } from './ports/admission-rule.ts'
export type { Agent, AgentAnswer, AgentChunk } from './ports/agent/agent.ts'
export type {
  AgentAskOptions,
  AgentCallAnswer,
  AgentCallOptions,
  CallAgent,
  OAuthClient,
  PeerCredentials,
  PeerOptions,
} from './ports/agent/agent-call.ts'
export { credentialUses } from './ports/agent/agent-call.ts'
export type { AgentContext, AttachmentBytes, PostOptions } from './ports/agent/agent-context.ts'
export type { AgentDirectory } from './ports/agent/agent-directory.ts'
export type { AgentCardDetails, AgentProfile, AgentSkill } from './ports/agent/agent-profile.ts'
export type { AgentPublisher } from './ports/agent/agent-publisher.ts'
export type { AgentState } from './ports/agent/agent-state.ts'
export { isAnswerSentWhole } from './ports/agent/answer-streaming.ts'
export type {
  EvidenceCaller,
  EvidenceClaim,
  EvidenceCode,
  EvidenceResult,
  IdentityVerifier,
  RejectedEvidence,
} from './ports/agent/evidence.ts'
export { ownEvidenceCodes, publishedEvidenceCodes } from './ports/agent/evidence.ts'
export type { ForgettingContext, ForgottenPerson } from './ports/agent/forgotten-person.ts'
export type { HistoryMoment, HistoryPolicy, HistoryView } from './ports/agent/history-policy.ts'
export type {
  EndedStep,
  RunningStep,
  StepEnd,
  StepRecorder,
  StepStart,
} from './ports/agent/step-recorder.ts'
export {
  createRecorderMember,
  failureCodeOf,
  findStepRecorder,
} from './ports/agent/step-recorder.ts'
export type { Addressing, AnsweredTurn, TransmitResult } from './ports/channel/addressing.ts'
export type { Channel } from './ports/channel/channel.ts'
export { findChannel } from './ports/channel/channel.ts'
export type { ChannelContext } from './ports/channel/channel-context.ts'
export { agentPausedText } from './ports/channel/channel-context.ts'
export type { ChannelDescriptor, SpeakerRules } from './ports/channel/channel-descriptor.ts'
export type { Inbound } from './ports/channel/inbound.ts'
export type { IntakeSteps, UsedKey } from './ports/channel/intake-steps.ts'
export { createIntakeSteps } from './ports/channel/intake-steps.ts'
export type { ListeningSocket } from './ports/channel/listening-socket.ts'
export type { ChannelActions } from './ports/channel/optional/channel-actions.ts'
export type { ChannelConversations } from './ports/channel/optional/channel-conversations.ts'
export type {
  ChannelDiagnostics,
  ReplayConditions,
} from './ports/channel/optional/channel-diagnostics.ts'
export type { ChannelKeys } from './ports/channel/optional/channel-keys.ts'
export { maxListedKeyOwners } from './ports/channel/optional/channel-keys.ts'
export type { PublicProfile, WebLink } from './ports/channel/optional/public-profile.ts'
export type { PublishedKey } from './ports/channel/optional/published-key.ts'
export type {
  SelfTestCall,
  SelfTestFetches,
  SelfTestResult,
} from './ports/channel/optional/self-test.ts'
export { createSender } from './ports/channel/outbound.ts'
export { toProofKey } from './ports/channel/proof-key.ts'
export type { HumanOperators, OperatorQuestion } from './ports/operator/human-operators.ts'
export { dnsKeyOf, fetchKeyOf } from './ports/operator/lookup-key.ts'
export type { MessageTiming, OperatorStore, WaitingHost } from './ports/operator/operator-store.ts'
export { windowedLists } from './ports/operator/operator-store.ts'
export type { Lookup, ReplayStore, StoredArrival } from './ports/operator/replay-store.ts'
export type { TraceStore } from './ports/operator/trace-store.ts'
export type { WhyQuery, WhyStore, WhySubject } from './ports/operator/why-store.ts'
export type { AdmitResult, Intake, StorageQuota, TurnBudget, TurnQuota } from './ports/records/intake.ts'
export type {
  AgentNote,
  NoteBody,
  NoteContext,
  NoteNotice,
  StageNotice,
  StoredNote,
  TurnNote,
} from './ports/records/note.ts'
export { formatTurnId } from './ports/records/note.ts'
export type { ConversationSummary } from './ports/records/operator/conversation-summary.ts'
export type { DeliveryRecord } from './ports/records/operator/delivery-record.ts'
export type { MessageRecord, MessageState, MessageSummary } from './ports/records/operator/message-record.ts'
export type {
  DeliveryPage,
  ListPeriod,
  ListWindow,
  MessagePage,
  Page,
  RefusalPage,
} from './ports/records/operator/page.ts'
export type { Refusal, RefusalClaims, RefusalCode, UnusedIntake } from './ports/records/operator/refusal.ts'
export type { RunSetup, SetupDifference } from './ports/records/operator/run-setup.ts'
export type { StoreCounts } from './ports/records/operator/store-counts.ts'
export type { Downtime, WhyDelivery, WhyRecord } from './ports/records/operator/why-record.ts'
export type {
  ForgetPersonRequest,
  ForgetPersonResult,
  PersonMessage,
  PersonMessagesRequest,
} from './ports/records/people/forgetting.ts'
export type {
  OwnThread,
  OwnThreadFilter,
  PersonHistoryRequest,
} from './ports/records/people/own-threads.ts'
export { agentPeopleShape } from './ports/records/people/people-config.ts'
export type { AgentPerson, Person, PersonAddress, PersonIdentity } from './ports/records/people/person.ts'
export type {
  LinkChange,
  LinkConfirmation,
  LinkConfirmationResult,
  LinkDeps,
  LinkNotifications,
  LinkRefusal,
  LinkRequest,
  LinkRequestResult,
  PersonLink,
} from './ports/records/people/person-link.ts'
export { linkLimits } from './ports/records/people/person-link.ts'
export type {
  Blob,
  FetchFile,
  LinkedFile,
  PlannedBroadcast,
  PlannedDelivery,
  RelationKind,
} from './ports/records/planned-delivery.ts'
export { relationKinds } from './ports/records/planned-delivery.ts'
export type { QueueMode, QueueModeName } from './ports/records/queue-mode.ts'
export { maxAborts, mergeBounds, queueModes } from './ports/records/queue-mode.ts'
export type {
  AuthoredMessage,
  Authorship,
  Bounce,
  Relation,
  RelationDecision,
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
  RerunResult,
  ResolutionResult,
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
export type { Answer, ChangedPersonState, DeliveryPlan, PlannedAction } from './ports/records/work/answer.ts'
export type { Broadcast, Delivery } from './ports/records/work/delivery.ts'
export type { DeliveryRank, LeaseRequest } from './ports/records/work/lease-request.ts'
export type { Settlement } from './ports/records/work/settlement.ts'
export type { Turn } from './ports/records/work/turn.ts'
export { beginningOf } from './ports/records/work/turn.ts'
export type { RequirementClaim, RequirementClaims, RequirementDeps } from './ports/requirement-claims.ts'
export type { IntakeStore } from './ports/store/intake-store.ts'
export type {
  AgentConversation,
  LookupStore,
  MessageView,
  ResponseContext,
  ResponseRecord,
} from './ports/store/lookup-store.ts'
export type { ChangeKind, ChangeNotice, NoticeStore, WorkKind } from './ports/store/notice-store.ts'
export { changeKinds, workKinds } from './ports/store/notice-store.ts'
export type { OwnThreadStore, PeopleStore } from './ports/store/people-store.ts'
export type { RelationStore } from './ports/store/relation-store.ts'
export type { ListedDecision, RememberedDecision, RememberedStore } from './ports/store/remembered-store.ts'
export { rememberedDecisionKind, rememberedDecisionSchema } from './ports/store/remembered-store.ts'
export type { OverdueStore, RequirementDecisions, RequirementStore } from './ports/store/requirement-store.ts'
export type { ListedSecret, RotateOptions, SecretPurpose, SecretRing, SecretStore } from './ports/store/secret-store.ts'
export { replacedSecretMs, secretPurposes } from './ports/store/secret-store.ts'
export type { SingleUseStore } from './ports/store/single-use-store.ts'
export type { Store } from './ports/store/store.ts'
export type { TaskCancelEvent, TaskStore } from './ports/store/task-store.ts'
export { taskCanceledFlag } from './ports/store/task-store.ts'
export type { WithdrawalStore } from './ports/store/withdrawal-store.ts'
export type {
  DeliveryConsumer,
  DeliveryTicket,
  TurnConsumer,
  TurnTicket,
  WorkConsumer,
  WorkStore,
} from './ports/store/work-store.ts'
export type { StoredFiles } from './ports/turn/action-deps.ts'
export type { RetryPolicy } from './ports/turn/retry-policy.ts'
export type { RunningAgent } from './ports/turn/running-agent.ts'
export type { FileReader, MentionFanoutLimits, TurnContext } from './ports/turn/turn-context.ts'
export type {
  ApprovalCall,
  OperatorApproval,
  OperatorApprovals,
  OperatorDecision,
  OperatorQuestions,
  WaitingQuestion,
} from './requirements/operator-approval.ts'
export {
  formatDeciderKey,
  listRememberedIds,
  maxRememberedDecisions,
  mayBeRemembered,
  planRemembered,
  readRemember,
  rememberedRecordKey,
} from './requirements/remembered-decision.ts'
export { actionUrl, createRequirementList, createShowRequirement } from './requirements/requirements.ts'
export {
  createResolutionIntake,
  decideByTimeout,
  describeObjection,
  describeResolution,
  describeTimeout,
  refuseClaim,
  refuseResolution,
  resolutionIdOf,
  timeoutMethod,
} from './requirements/resolution-intake.ts'
export { defaultRetryPolicy } from './retry/retry.ts'
export { appendParts, collectAnswer } from './turn/answer/collect-answer.ts'
export { completeResponse } from './turn/answer/complete-response.ts'
export { createCallBudget, defaultCallsPerMessage } from './turn/limits/call-budget.ts'
export { rebuildAgentInput } from './turn/trace/rebuilt-input.ts'
export { hasWorkerLeftTurn, isTurnProgress, readAbortKind, runTurn } from './turn/turn.ts'
export { createAccessRule, createRequirementDecisions } from './worker/admission/access-rule.ts'
export { createLoopRule, findLoop, loopMemoryMs, measureLoopMemory } from './worker/admission/loop-rule.ts'
export { readVisibleIntake } from './worker/admission/visible-intake.ts'
export type { PausedHost } from './worker/hosts/breaker.ts'
export { createBreaker } from './worker/hosts/breaker.ts'
export { createKeyedQueue } from './worker/keyed-queue.ts'
export type { WorkerOptions } from './worker/pools/worker-options.ts'
export { admitOwn, receive } from './worker/receive.ts'
export type { RefusalContext, SelfTestOutcome } from './worker/record-refusal.ts'
export { classifyRefusal, hasRefusal, markSelfTest, recordRefusal } from './worker/record-refusal.ts'
export { renderUnsent } from './worker/render-unsent.ts'
export type { Worker } from './worker/worker.ts'
export { startWorker } from './worker/worker.ts'

export { aguiCodec } from './agui/agui-codec.ts'
export type { AguiPart } from './agui/agui-message.ts'
export { parseAguiMessage } from './agui/agui-message.ts'
export { readAguiParts, writeAguiParts } from './agui/agui-parts.ts'
export type { AguiUsage } from './agui/agui-usage.ts'
export { writeAguiUsage } from './agui/agui-usage.ts'
export type { ReadContext } from './codec.ts'
export { codecs } from './codecs.ts'
export { hashContent } from './content-hash.ts'
export type { EntryBody, EntryContent, EntryTool, LosslessDiff, TranscriptEntry } from './entry.ts'
export { contentIsEmpty, contentOfText, entryBodySchema, textOfContent, transcriptEntrySchema } from './entry.ts'
export type { EntryDecision } from './entry-decision.ts'
export { decisionOf } from './entry-decision.ts'
export {
  buildQuestionEnvelope,
  buildTextEnvelope,
  buildToolCallEnvelope,
  buildToolResultEnvelope,
} from './envelope/build-envelope.ts'
export { coalesceEnvelopes, textOfEnvelopeContent } from './envelope/coalesce-envelopes.ts'
export { reportConversation } from './envelope/conversation-contract.ts'
export type { ConversationResult } from './envelope/conversation-result.ts'
export { buildFailedResult, normalizeConversationResult } from './envelope/conversation-result.ts'
export type { AgentMessageEnvelope, EnvelopeType, ProviderMessage } from './envelope/envelope.ts'
export { envelopeCodec } from './envelope/envelope-codec.ts'
export { normalizeEnvelope } from './envelope/normalize-envelope.ts'
export type { PendingAction, PendingActions } from './envelope/pending-action.ts'
export { createPendingActions, pendingActionSchema } from './envelope/pending-action.ts'
export { toProviderMessage, toProviderMessages } from './envelope/provider-message.ts'
export { claimRun, screenExternalMessage } from './envelope/run-claim.ts'
export type { ConversationRequest } from './envelope/run-conversation.ts'
export { runConversation } from './envelope/run-conversation.ts'
export type { Session, SessionPrincipal } from './envelope/session.ts'
export { checkSessionOwner } from './envelope/session.ts'
export type { SessionStore } from './envelope/session-port.ts'
export { createSessionStore } from './envelope/session-store.ts'
export { auditTool, observeTool } from './envelope/tool-audit.ts'
export type { OrphanFinding } from './envelope/tool-pairs.ts'
export { findOrphanEnvelopes, pruneOrphanEnvelopes } from './envelope/tool-pairs.ts'
export type { WantedCall } from './envelope/tool-policy.ts'
export { buildDecisionEnvelope, callUnderPolicy, createPolicyMemory } from './envelope/tool-policy.ts'
export type { ExchangeFormat, Imported } from './exchange-thread.ts'
export { exchangeFormats, exportThread, importThread } from './exchange-thread.ts'
export { buildHistory } from './history-entries.ts'
export type { JsonMap } from './json-difference.ts'
export { diffJson, isJsonDifference, patchJson } from './json-difference.ts'
export type { FormatName } from './kind.ts'
export { formatNames, isChatVisible, scopeOfKind } from './kind.ts'
export { createMemoryRecords } from './memory-records.ts'
export { createMemoryTranscript } from './memory-store.ts'
export { normalizedCodec } from './normalized/normalized-codec.ts'
export { markerName } from './origin-marker.ts'
export { repairPairs } from './pair-repair.ts'
export { identifyEntry, nameEntry, nameNative, numberEntries, splitMessages } from './place-entries.ts'
export { redactEntry } from './redact-entry.ts'
export { countFitting } from './select-entries.ts'
export { createStoreBuilders } from './store-format/build-store-message.ts'
export { filterMessagesByRole, isMessageTurnComplete, prepareJobHistory } from './store-format/filter-messages.ts'
export type { AgentViewOptions, MessageStore, TeamViewOptions } from './store-format/message-store.ts'
export { seedAgentTypes } from './store-format/message-store.ts'
export type { StoreMessageType } from './store-format/message-types.ts'
export { findMessageTypeInfo, isMessageType, messageTypeNames, messageTypes } from './store-format/message-types.ts'
export { readNote } from './store-format/read-note.ts'
export { storeCodec } from './store-format/store-codec.ts'
export { createStoreMemory } from './store-format/store-memory.ts'
export type { StoreMessage } from './store-format/store-message.ts'
export { parseStoreMessage } from './store-format/store-message.ts'
export { createTranscriptMessageStore } from './store-format/transcript-message-store.ts'
export { withTurnFrames } from './store-format/turn-frames.ts'
export type { AnswerCheck } from './swarm/answer-checks.ts'
export { answerChecks, defaultAnswerChecks, findAnswerFault } from './swarm/answer-checks.ts'
export type { ComputeSpec } from './swarm/client-compute.ts'
export type { StateSpec } from './swarm/client-state.ts'
export { kindOfItems } from './swarm/data-room.ts'
export type { AllCommits } from './swarm/forced-commits.ts'
export { createNavigateBackTool, createNavigateTool } from './swarm/navigate-tool.ts'
export { createSwarm } from './swarm/open-swarm.ts'
export { createSwarmAgent } from './swarm/swarm-agent.ts'
export type { BusEvent } from './swarm/swarm-bus.ts'
export { busSources, createSwarmBus } from './swarm/swarm-bus.ts'
export type { OutgoingMessage, SwarmClient } from './swarm/swarm-client.ts'
export { openSwarmClient } from './swarm/swarm-client.ts'
export { swarmCodec } from './swarm/swarm-codec.ts'
export type { SwarmData } from './swarm/swarm-data.ts'
export { detectImageType } from './swarm/swarm-image.ts'
export type { SwarmMessage, SwarmRole, SwarmToolCall } from './swarm/swarm-message.ts'
export { encodeSwarmImages, parseSwarmMessage, swarmRoles } from './swarm/swarm-message.ts'
export type {
  AgentSpec,
  ModelAnswer,
  SwarmDeps,
  SwarmModel,
  SwarmPolicy,
  SwarmSpec,
  SwarmTool,
  ToolContext,
  ToolDescription,
} from './swarm/swarm-spec.ts'
export { diffSwarmState, readSwarmState } from './swarm/swarm-state.ts'
export type {
  EntryRange,
  OwnerQuota,
  RecordKey,
  RecordQuota,
  RecordStore,
  RecordTies,
  StoredRecord,
  ThreadAlias,
  ThreadKey,
  TranscriptStore,
  WriteRequest,
} from './transcript-store.ts'
export type { ViewConfig } from './views.ts'
export { viewEntries } from './views.ts'
export { findAnsweredQuestion, listOpenWaits } from './waits.ts'

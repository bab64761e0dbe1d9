// Stores conversations as one transcript and translates it losslessly between five message formats.
export { aguiCodec, planActivityTypes } from './agui/codec.ts'
export type { AguiPart, AguiUsage } from './agui/message.ts'
export { parseAguiMessage, readAguiParts, readAguiUsage, writeAguiParts, writeAguiUsage } from './agui/message.ts'
export type { ReadContext } from './codec/dialect.ts'
export { markerName } from './codec/dialect.ts'
export { repairPairs } from './codec/tool-entry.ts'
export type { EntryBody, EntryContent, EntryDecision, EntryTool, LosslessDiff, TranscriptEntry } from './entry/entry.ts'
export {
  contentIsEmpty,
  contentOfText,
  decisionOf,
  entryBodySchema,
  partsOfContent,
  redactEntry,
  textOfContent,
  transcriptEntrySchema,
} from './entry/entry.ts'
export type { ExchangeFormat, FormatName } from './entry/kind.ts'
export { exchangeFormats, formatNames, isChatVisible, scopeOfKind } from './entry/kind.ts'
export {
  groupParts,
  isEmptyText,
  messageIdOf,
  nameCall,
  nameEntries,
  nameResult,
  nameTextMessage,
  standsAlone,
} from './entry/message-id.ts'
export { identifyEntry, nameEntry, nameNative, numberEntries, splitMessages } from './entry/numbered-entries.ts'

export {
  buildQuestionEnvelope,
  buildTextEnvelope,
  buildToolCallEnvelope,
  buildToolResultEnvelope,
  coalesceEnvelopes,
  findOrphanEnvelopes,
  pruneOrphanEnvelopes,
  textOfEnvelopeContent,
  toProviderMessage,
  toProviderMessages,
} from './envelope/build.ts'
export { envelopeCodec } from './envelope/codec.ts'
export type { AgentMessageEnvelope, EnvelopeType } from './envelope/envelope.ts'
export { normalizeEnvelope } from './envelope/normalize.ts'
export type { PendingAction, PendingActions } from './envelope/runs/pending-action.ts'
export { createPendingActions, pendingActionSchema } from './envelope/runs/pending-action.ts'
export type { ConversationRequest, ConversationResult } from './envelope/runs/run-conversation.ts'
export {
  buildFailedResult,
  normalizeConversationResult,
  reportConversation,
  runConversation,
} from './envelope/runs/run-conversation.ts'
export type { RequestedCall } from './envelope/runs/tool-policy.ts'
export {
  auditTool,
  buildDecisionEnvelope,
  callUnderPolicy,
  createPolicyMemory,
  observeTool,
} from './envelope/runs/tool-policy.ts'
export type { Session, SessionPrincipal, SessionStore } from './envelope/sessions/session.ts'
export { checkSessionOwner } from './envelope/sessions/session.ts'
export { claimRun, createSessionStore, screenExternalMessage } from './envelope/sessions/session-store.ts'
export { codecs, exportThread, importThread } from './exchange/thread.ts'
export type { JsonMap } from './json/difference.ts'
export { copyJson, diffJson, hashContent, isJsonDifference, patchJson } from './json/difference.ts'
export { formatUuidOf } from './json/uuid.ts'
export { normalizedCodec } from './normalized/codec.ts'
export { countFitting, createMemoryTranscript } from './store/memory-store.ts'
export type { RecordKey, RecordQuota, RecordStore, RecordTies, StoredRecord } from './store/record-store.ts'
export { createMemoryRecords } from './store/record-store.ts'
export type {
  EntryRange,
  OwnerQuota,
  ThreadAlias,
  ThreadKey,
  TranscriptStore,
  WriteRequest,
} from './store/transcript-store.ts'
export { createStoreBuilders } from './store-format/build.ts'
export { storeCodec } from './store-format/codec.ts'
export {
  filterMessagesByRole,
  isMessageTurnComplete,
  prepareJobHistory,
  readStoreNote,
} from './store-format/filter-messages.ts'
export type { StoreMessage, StoreMessageType } from './store-format/message.ts'
export {
  findMessageTypeInfo,
  isMessageType,
  messageTypeNames,
  messageTypes,
  parseStoreMessage,
} from './store-format/message.ts'
export type { AgentViewOptions, MessageStore, TeamViewOptions } from './store-format/message-store.ts'
export { createStoreMemory, seedAgentTypes } from './store-format/message-store.ts'
export { createTranscriptMessageStore } from './store-format/transcript-message-store.ts'
export { withTurnFrames } from './store-format/turn-frames.ts'
export { swarmCodec } from './swarm/codec.ts'
export type { ExecutionMode, SwarmImage, SwarmMessage, SwarmRole, SwarmToolCall } from './swarm/message.ts'
export { detectImageType, encodeSwarmImages, hasOnlyText, parseSwarmMessage, swarmRoles } from './swarm/message.ts'
export type { ViewConfig } from './views/views.ts'
export { buildHistory, findAnsweredQuestion, listOpenWaits, viewEntries } from './views/views.ts'

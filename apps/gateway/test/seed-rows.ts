/** Tests of the rules in docs/conformance/transcript.md (E: message envelopes; C: chat; S: message stores; W: swarms), by their files. */
const envelopes = 'apps/gateway/test/envelopes.test.ts'
const channelRows = 'apps/gateway/test/channel-rows.test.ts'
const conversationRunner = 'apps/gateway/test/conversation-runner.test.ts'
const envelope = 'packages/transcript/src/envelope/envelope.test.ts'
const dialects = 'apps/gateway/test/dialects.test.ts'
const normalized = 'packages/transcript/src/normalized/normalized.test.ts'
const views = 'packages/transcript/src/views.test.ts'
const sessionStore = 'packages/transcript/src/envelope/session-store.test.ts'
const memoryStore = 'packages/transcript/src/memory-store.test.ts'
const approval = 'apps/gateway/test/approval.test.ts'
const operatorApproval = 'apps/gateway/test/operator-approval.test.ts'
const approvals = 'packages/agents/src/approval/approvals.test.ts'
const remembered = 'apps/gateway/test/remembered.test.ts'
const rememberedCrash = 'apps/gateway/test/remembered-crash.test.ts'
const rememberedCalls = 'packages/agents/src/approval/remembered-calls.test.ts'
const toolPolicies = 'packages/agents/src/openai/tool-policies.test.ts'
const approvalCrash = 'apps/gateway/test/approval-crash.test.ts'
const toolFiles = 'apps/gateway/test/web/tool-files.test.ts'
const webRules = 'apps/gateway/test/web-rules.test.ts'
const storeBinding = 'packages/store/src/transcript/store-binding.test.ts'
const operatorChat = 'apps/gateway/test/operator-chat.test.ts'
const web = 'apps/gateway/test/web.test.ts'
const storage = 'apps/gateway/test/storage.test.ts'
const agui = 'packages/transcript/src/agui/agui.test.ts'
const signedUrl = 'packages/web/src/signed-url.test.ts'
const elsewhere = 'apps/gateway/test/web/elsewhere.test.ts'
const resumedRuns = 'apps/gateway/test/web/resumed-runs.test.ts'
const producer = 'apps/gateway/test/web/producer.test.ts'
const notes = 'apps/gateway/test/web/notes.test.ts'
const cancelledRuns = 'apps/gateway/test/web/cancelled-runs.test.ts'
const stages = 'apps/gateway/test/web/stages.test.ts'
const elsewhereCrash = 'apps/gateway/test/web/elsewhere-crash.test.ts'
const pythonStore = 'clients/python/tests/test_store.py'
const storeFormat = 'packages/transcript/src/store-format/store-format.test.ts'
const turnFrames = 'packages/transcript/src/store-format/turn-frames.test.ts'
const historyViews = 'apps/gateway/test/history-views.test.ts'
const historyView = 'packages/agents/src/history-view.test.ts'
const delegationCrash = 'apps/gateway/test/delegation-crash.test.ts'
const delegation = 'apps/gateway/test/delegation.test.ts'
const twoGateways = 'apps/gateway/test/two-gateways.test.ts'
const turnNotes = 'packages/core/src/turn/notes/turn-notes.test.ts'
const exchange = 'apps/gateway/test/exchange.test.ts'
const teamViews = 'apps/gateway/test/team-views.test.ts'
const swarmMessages = 'apps/gateway/test/swarm-messages.test.ts'
const swarmMessage = 'packages/transcript/src/swarm/swarm-message.test.ts'
const swarmKeeping = 'apps/gateway/test/swarm-keeping.test.ts'
const swarm = 'packages/transcript/src/swarm/swarm.test.ts'
const swarmBus = 'packages/transcript/src/swarm/swarm-bus.test.ts'
const swarmCommits = 'packages/transcript/src/swarm/swarm-commits.test.ts'
const swarmData = 'packages/transcript/src/swarm/swarm-data.test.ts'
const testSwarm = 'apps/gateway/test/swarm.test.ts'
const createSwarmTest = 'packages/transcript/src/swarm/open-swarm.test.ts'
const heard = 'packages/agents/src/swarm/heard.test.ts'
const streamedAnswerCheck = 'packages/transcript/src/swarm/streamed-answer-check.test.ts'
const swarmCrash = 'apps/gateway/test/swarm-crash.test.ts'
const clientStorage = 'packages/transcript/src/swarm/client-storage.test.ts'
const compositionSwarm = 'apps/gateway/test/composition/swarm.test.ts'
const swarmHeard = 'apps/gateway/test/swarm-heard.test.ts'
const swarmRows = 'apps/gateway/test/swarm-rows.test.ts'
const swarmAttacks = 'apps/gateway/test/swarm-attacks.test.ts'

type SeedRow = readonly [id: string, files: readonly string[]]

export const seedRows: readonly SeedRow[] = [
  ['E-01', [envelopes, envelope]],
  ['E-02', [envelopes, envelope]],
  ['E-03', [envelopes, envelope]],
  ['E-04', [envelopes, envelope]],
  ['E-05', [envelopes, envelope]],
  ['E-06', [envelopes, envelope]],
  ['E-07', [dialects, envelopes, envelope]],
  ['E-08', [envelopes, envelope]],
  ['E-09', [envelopes, envelope]],
  ['E-10', [envelopes, envelope]],
  ['E-11', [envelopes, envelope]],
  ['E-12', [envelopes, envelope]],
  ['E-13', [dialects, envelopes, envelope, normalized]],
  ['E-14', [envelopes, envelope]],
  ['E-15', [dialects, envelopes, envelope]],
  ['E-16', [dialects, envelopes, envelope]],
  ['E-17', [envelopes, envelope]],
  ['E-18', [envelopes, envelope]],
  ['E-19', [envelopes, envelope]],
  ['E-20', [envelopes, envelope]],
  ['E-21', [envelopes, envelope]],
  ['E-22', [envelopes, envelope]],
  ['E-23', [envelopes, envelope]],
  ['E-24', [conversationRunner, envelope]],
  ['E-25', [conversationRunner, envelope]],
  ['E-26', [conversationRunner, envelope]],
  ['E-27', [conversationRunner, envelope]],
  ['E-28', [conversationRunner, envelopes, envelope]],
  ['E-29', [conversationRunner, envelope]],
  ['E-30', [envelopes, envelope]],
  ['E-31', [conversationRunner, envelope]],
  ['E-32', [conversationRunner, envelope]],
  ['E-33', [conversationRunner, envelopes, envelope, views, channelRows]],
  ['E-34', [dialects, envelopes, sessionStore]],
  ['E-35', [dialects, sessionStore, memoryStore]],
  ['E-36', [dialects, envelopes, sessionStore]],
  ['E-37', [conversationRunner, dialects, sessionStore, memoryStore]],
  ['E-38', [approval, operatorApproval, approvals, toolPolicies, sessionStore]],
  [
    'E-39',
    [approvalCrash, approval, operatorApproval, approvals, sessionStore, remembered, rememberedCrash, rememberedCalls],
  ],
  ['E-40', [conversationRunner, webRules, storeBinding, views]],
  ['E-41', [sessionStore, channelRows]],
  ['E-42', [sessionStore, channelRows]],
  ['E-43', [operatorChat, webRules, sessionStore]],
  ['E-44', [conversationRunner, envelope, sessionStore]],
  ['C-01', [web]],
  ['C-02', [storage, webRules, web, agui]],
  ['C-03', [storage, web, agui]],
  ['C-04', [storage, web]],
  ['C-05', [webRules, web]],
  ['C-06', [webRules, web, signedUrl]],
  ['C-07', [storage, web, elsewhere]],
  ['C-08', [storage, signedUrl]],
  ['C-09', [storage, webRules, web, signedUrl]],
  ['C-10', [web]],
  ['C-11', [webRules, web, agui]],
  ['C-12', [webRules, web, notes]],
  ['C-13', [web]],
  ['C-14', [webRules, web]],
  ['C-15', [web]],
  ['C-16', [webRules, web, notes, cancelledRuns]],
  ['C-17', [webRules, web]],
  ['C-18', [webRules, web, resumedRuns, notes, cancelledRuns]],
  ['C-19', [webRules, web, stages, agui]],
  ['C-20', [producer, agui]],
  ['C-21', [web, notes, agui]],
  ['C-22', [toolFiles, web]],
  ['C-23', [approval, operatorChat, web, producer]],
  ['C-24', [approval, operatorChat, webRules, web, resumedRuns]],
  ['C-25', [operatorChat, webRules, web]],
  ['C-26', [webRules, web, elsewhere, resumedRuns]],
  ['C-27', [web, elsewhere]],
  ['C-28', [web]],
  ['C-29', [toolFiles, webRules, web]],
  ['C-30', [elsewhereCrash, elsewhere]],
  ['C-31', [web]],
  ['C-32', [webRules, web]],
  ['S-01', [dialects, pythonStore, storeFormat]],
  ['S-02', [pythonStore, storeFormat]],
  ['S-03', [dialects, pythonStore, storeFormat]],
  ['S-04', [pythonStore, storeFormat]],
  ['S-05', [pythonStore, storeFormat]],
  ['S-06', [pythonStore, storeFormat]],
  ['S-07', [pythonStore, storeFormat]],
  ['S-08', [pythonStore, storeFormat]],
  ['S-09', [pythonStore, storeFormat, turnFrames]],
  ['S-10', [pythonStore, storeFormat]],
  ['S-11', [pythonStore, storeFormat]],
  ['S-12', [pythonStore, storeFormat]],
  ['S-13', [dialects, pythonStore, storeFormat]],
  ['S-14', [pythonStore, storeFormat, channelRows]],
  ['S-15', [pythonStore, storeFormat]],
  ['S-16', [pythonStore, storeFormat]],
  ['S-17', [pythonStore, storeFormat]],
  ['S-18', [pythonStore, storeFormat]],
  ['S-19', [pythonStore, storeFormat]],
  ['S-20', [historyViews, historyView, storeFormat]],
  ['S-21', [historyViews, historyView, storeFormat]],
  ['S-22', [historyViews, historyView, storeFormat, views]],
  ['S-23', [historyViews, storeFormat]],
  ['S-24', [historyViews, storeFormat]],
  ['S-25', [teamViews, storeFormat]],
  ['S-26', [pythonStore, storeFormat]],
  ['S-27', [pythonStore, storeFormat]],
  ['S-28', [pythonStore, storeFormat]],
  ['S-29', [pythonStore, storeFormat]],
  ['S-30', [dialects, pythonStore, storeFormat]],
  ['S-31', [delegationCrash, delegation, twoGateways, turnNotes]],
  ['S-32', [historyViews, storeFormat]],
  ['S-33', [historyViews, storeFormat]],
  ['S-34', [approval, exchange, teamViews]],
  ['W-01', [swarmMessages, swarmMessage]],
  ['W-02', [swarmMessages, swarmMessage]],
  ['W-03', [swarmMessages, swarmMessage]],
  ['W-04', [swarmMessages, swarmMessage]],
  ['W-05', [swarmKeeping, swarmMessages, swarmMessage]],
  ['W-06', [swarmMessages, swarmMessage]],
  ['W-07', [swarmMessages, swarmMessage, swarm]],
  ['W-08', [swarmBus, swarmCommits]],
  ['W-09', [swarmCommits, swarmData]],
  ['W-10', [swarmBus, swarmCommits]],
  ['W-11', [swarmBus]],
  ['W-12', [swarmKeeping, swarm, views]],
  ['W-13', [swarmKeeping, views]],
  ['W-14', [testSwarm, views]],
  ['W-15', [historyView, swarm, views]],
  ['W-16', [swarm, views]],
  ['W-17', [swarmCommits, createSwarmTest]],
  ['W-18', [swarmAttacks, swarm]],
  ['W-19', [swarmAttacks, swarm]],
  ['W-20', [swarmKeeping, swarm]],
  ['W-21', [testSwarm, heard, streamedAnswerCheck, swarm]],
  ['W-22', [swarmCrash, swarmKeeping, testSwarm, clientStorage, swarmData, swarm]],
  ['W-23', [testSwarm, storeBinding]],
  ['W-24', [compositionSwarm]],
  ['W-25', [swarmHeard, swarmRows, heard, streamedAnswerCheck, swarm]],
  ['W-26', [swarmRows, testSwarm, swarm]],
  ['W-27', [swarmRows, swarm]],
  ['W-28', [swarmRows, swarm]],
  ['W-29', [swarmRows, streamedAnswerCheck, swarm]],
  ['W-30', [swarmKeeping, createSwarmTest, swarm]],
  ['W-31', [approval, swarmHeard, swarm]],
  ['W-32', [swarmData, swarm, channelRows]],
]

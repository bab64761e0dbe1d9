// Lists a call of each operation of the operator API.
import type { CalledRecords } from './called-gateway.ts'

export interface OperationCall {
  readonly id: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The status if the operation finds nothing to act on. Absent for 200. */
  readonly status?: 403 | 404
}

const period = { since: '2020-01-01T00:00:00Z', until: '2099-01-01T00:00:00+01:00' }
const page = { limit: '5', after: '1000000' }
const oldest = { limit: '5', after: '0' }
const agent = 'desk'
const allFilters = { agent, channel: 'activitypub', sender: 'alice', ...period }

/** Lists a call of each operation with every parameter that it declares. */
export function listOperationCalls(records: CalledRecords): readonly OperationCall[] {
  const { message, delivery, requirement, failedRequirement, dead, approval, followers, suppressed, question, ban } =
    records
  const [acceptedFollower, rejectedFollower] = followers
  const thread = message
  const decision = { outcome: 'granted', arguments: { order: '17' }, remember: 'once' }
  return [
    { id: 'readDocument' },
    { id: 'listMessages' },
    { id: 'listMessages', query: { ...allFilters, state: 'answered', flag: 'odd', text: 'money', ...page } },
    { id: 'findMessage', parameters: { id: message } },
    { id: 'findMessage', parameters: { id: 'nothing' }, status: 404 },
    { id: 'listConversations' },
    { id: 'listConversations', query: { ...allFilters, ...page } },
    { id: 'listDeliveries' },
    { id: 'listDeliveries', query: { agent, channel: 'email', ...period, state: 'dead', text: 'x', ...page } },
    { id: 'findDelivery', parameters: { id: delivery } },
    { id: 'changeDelivery', parameters: { id: '987654321', action: 'retry' }, status: 404 },
    { id: 'changeDelivery', parameters: { id: dead.post, action: 'retry' } },
    { id: 'changeDelivery', parameters: { id: dead.mail, action: 'dismiss' } },
    { id: 'listRefusals' },
    { id: 'listRefusals', query: { ...allFilters, code: 'unsigned', text: 'Cannot', ...page } },
    { id: 'listRequirements', query: { ...allFilters, state: 'open', approver: 'operator', text: 'back', ...page } },
    { id: 'listRequirements' },
    { id: 'findRequirement', parameters: { id: requirement } },
    { id: 'decideRequirement', parameters: { id: requirement }, body: decision },
    { id: 'decideRequirement', parameters: { id: requirement }, body: decision, status: 403 },
    { id: 'rerunRequirement', parameters: { id: 'none' }, status: 404 },
    { id: 'rerunRequirement', parameters: { id: requirement }, status: 403 },
    { id: 'rerunRequirement', parameters: { id: failedRequirement } },
    { id: 'listApprovals', parameters: { agent }, query: { sender: 'alice', ...period, text: 'refund', ...page } },
    { id: 'listApprovals', parameters: { agent: 'shop' } },
    { id: 'revokeApproval', parameters: { agent, id: 'none' }, status: 404 },
    { id: 'revokeApproval', parameters: { agent: 'shop', id: approval } },
    { id: 'listRelations', query: { ...allFilters, relation: 'follower', ...oldest } },
    { id: 'listRelations' },
    { id: 'listRelations', query: { relation: 'pending' } },
    { id: 'decideFollowRequest', parameters: { verdict: 'accept' }, body: { agent, peer: 'x' }, status: 404 },
    { id: 'decideFollowRequest', parameters: { verdict: 'accept' }, body: { agent, peer: acceptedFollower } },
    { id: 'decideFollowRequest', parameters: { verdict: 'reject' }, body: { agent, peer: rejectedFollower } },
    { id: 'listSuppressions', query: { ...allFilters, channel: 'email', ...oldest } },
    { id: 'listSuppressions' },
    { id: 'liftSuppression', body: { agent, peer: 'x@y.test' }, status: 404 },
    { id: 'liftSuppression', body: { agent: 'shop', peer: suppressed } },
    { id: 'probeChannel', parameters: { channel: 'email' } },
    { id: 'listPeople', query: { ...allFilters, ...oldest } },
    { id: 'performActions', parameters: { agent }, body: { acts: [{ act: 'post', parts: [text('news')] }] } },
    { id: 'listKeys', query: { agent } },
    { id: 'rotateKeys', body: { agent, revoke: false } },
    { id: 'resolveAddress', query: { address: `@${agent}@agents.test` } },
    { id: 'replayMessage', parameters: { id: message }, body: {} },
    { id: 'replayMessages', body: { limit: 1 } },
    { id: 'followEvents', query: { agent, channel: 'email', kind: 'message', after: 'unknown' } },
    { id: 'explain', parameters: { id: message } },
    { id: 'listOutcomes', query: { messages: message } },
    { id: 'listHosts' },
    { id: 'readRates' },
    { id: 'readReceived', parameters: { id: message } },
    { id: 'previewAnswer', parameters: { id: message } },
    { id: 'listQuestions', query: { agent, sender: 'x', ...period, text: 'x', ...page } },
    { id: 'listQuestions' },
    { id: 'answerQuestion', parameters: { id: 'none' }, body: { text: 'yes' }, status: 404 },
    { id: 'answerQuestion', parameters: { id: question }, body: { text: 'yes' } },
    { id: 'listBans', parameters: { agent }, query: { sender: 'x', ...page } },
    { id: 'listBans', parameters: { agent: 'strict' } },
    { id: 'liftBan', parameters: { agent, id: 'none' }, status: 404 },
    { id: 'liftBan', parameters: { agent: 'strict', id: ban } },
    { id: 'readSwarmUsage', parameters: { agent } },
    { id: 'exportTranscript', query: { format: 'agui', thread } },
    { id: 'exportTranscript', query: { format: 'agui', thread: 'a:b', owner: 'nobody' }, status: 404 },
    { id: 'importTranscript', query: { format: 'agui', thread: 'a2a:new', owner: 'tester' }, body: { messages: [] } },
    {
      id: 'readView',
      parameters: { view: 'agent' },
      query: { thread, agent_key: agent, types: 'task', limit: '5', tail: '5' },
    },
    {
      id: 'runDoctor',
      query: { only: 'store', origin: 'https://agents.test', agents: 'desk', agents_digest: 'a'.repeat(64) },
    },
    { id: 'listProxies' },
    { id: 'describeSimulation' },
    { id: 'sendFromSimulation', body: { via: 'a2a', to: agent, text: 'hello' } },
    { id: 'listSimulationInbox', query: { persona: 'alice@mastodon.test' } },
    { id: 'followInSimulation', body: { persona: 'alice@mastodon.test', agent } },
    { id: 'decideInSimulation', body: { message: '1', outcome: 'granted' } },
    { id: 'readStatus' },
    { id: 'listAgents', query: { agent, name: agent, ...oldest } },
    { id: 'pauseAgent', parameters: { agent, action: 'pause' } },
    { id: 'pauseAgent', parameters: { agent, action: 'resume' } },
    { id: 'listSettings', query: { agent } },
    { id: 'forgetOwner', body: { owner: 'web:["https://id.example","ann"]' } },
    { id: 'rewriteFiles' },
    { id: 'prune', body: { dry_run: true } },
    { id: 'forgetPerson', body: { address: '@alice@mastodon.test', agent } },
  ]
}

function text(content: string) {
  return { kind: 'text', mime: 'text/plain', content }
}

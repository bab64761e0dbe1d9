// Describes an agent that runs, with its settings.

import type { MentionPolicy, MessageKind } from '@postern/message'
import type { Agent } from '../agent/agent.ts'
import type { CredentialUse } from '../agent/agent-call.ts'
import type { HistoryPolicy } from '../agent/history-policy.ts'
import type { PeopleConfig } from '../records/people/people-config.ts'

export interface RunningAgent {
  readonly agent: Agent
  readonly history: HistoryPolicy
  /** The longest time for one turn, in ms. */
  readonly deadlineMs: number
  /** True if the turn of a message that begins a thread may begin before the message is durable; default: false. */
  readonly continuesAdmission?: boolean | undefined
  /** The kinds of messages that the agent gets; default: only `message`. */
  readonly receives?: readonly MessageKind[] | undefined
  /** The rules for linking addresses; absent if nobody may link addresses. */
  readonly people?: PeopleConfig | undefined
  /** The people whom the text of its answers and posts may mention; default: those of the conversation. */
  readonly mentions?: MentionPolicy | undefined
  /** The calls to remote agents that carry a credential; default: `asked`. */
  readonly credentials?: CredentialUse | undefined
}

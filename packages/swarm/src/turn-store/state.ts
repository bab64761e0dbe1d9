import type { AgentCallOptions, AgentState, Json } from '@postern/core'
import { parseJsonText, Rejection } from '@postern/core'

export type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

interface KeptState {
  /** Who speaks, and how the conversation came to him. */
  readonly navigation?: Json | undefined
  /** Where conversations of members elsewhere go on. */
  readonly remotes?: Readonly<Record<string, Continuation>> | undefined
  /** What tools of members keep: one for all of them. */
  readonly tools?: Json | undefined
  /** States, storages and computes of the conversation, by kind and name. */
  readonly data?: Readonly<Record<string, Json>> | undefined
}

/** What a swarm keeps of a conversation: in its agent's state, so that it is written with the answer, or not at all. */
export interface TurnState {
  readonly navigation: Json | undefined
  keepNavigation(value: Json): void
  findRemote(member: string): Continuation | undefined
  keepRemote(member: string, continuation: Continuation): void
  findData(name: string): Json | undefined
  /** `undefined` takes it away. @throws Rejection too_large */
  keepData(name: string, value: Json | undefined): void
  /** `context.state` of tools. */
  readonly ofTools: AgentState
}

/** `maxBytes`: of what tools keep, all together. */
export async function openTurnState(state: AgentState, maxBytes: number): Promise<TurnState> {
  let kept = ((await state.get()) ?? {}) as KeptState
  function keep(change: KeptState): void {
    kept = { ...kept, ...change }
    state.set(parseJsonText(JSON.stringify(kept)) as Json)
  }

  /** What makes it less is always kept. @throws Rejection too_large */
  function keepOfTools(change: Pick<KeptState, 'tools' | 'data'>): void {
    const { tools, data } = kept
    const bytes = countBytes({ tools, data, ...change })
    if (bytes > maxBytes && bytes > countBytes({ tools, data })) {
      throw new Rejection('too_large', `Cannot keep: the conversation would have more than ${maxBytes} bytes`)
    }
    keep(change)
  }
  return {
    get navigation() {
      return kept.navigation
    },
    keepNavigation: navigation => keep({ navigation }),
    ofTools: { get: async () => kept.tools, set: tools => keepOfTools({ tools }) },
    findData: name => kept.data?.[name],
    keepData(name, value) {
      const { [name]: _, ...others } = kept.data ?? {}
      keepOfTools({ data: value === undefined ? others : { ...others, [name]: value } })
    },
    findRemote: member => kept.remotes?.[member],
    keepRemote: (member, continuation) => keep({ remotes: { ...kept.remotes, [member]: continuation } }),
  }
}

function countBytes(kept: Pick<KeptState, 'tools' | 'data'>): number {
  return Buffer.byteLength(JSON.stringify(kept))
}

import type { AgentContext, NormalizedMessage } from '@postern/core'

/** Says what it was told before, by which ways, and what it has written down of the person. */
export async function handle(message: NormalizedMessage, { person, state }: AgentContext): Promise<string> {
  const said = message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join(' ')
  const memory = person?.state
  const kept = ((await memory?.get()) as string[] | undefined) ?? []
  memory?.set([...kept, said])
  state.set(said)
  const past = (message.history ?? []).flatMap(turn =>
    turn.parts.flatMap(part =>
      part.kind === 'text' && turn.role === 'user' ? [`${turn.via ?? '-'}: ${part.content}`] : [],
    ),
  )
  return JSON.stringify({ past, kept, knows: person?.addresses.map(({ via, address }) => `${via} ${address}`) ?? [] })
}

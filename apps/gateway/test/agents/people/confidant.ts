// Reports its knowledge of a person: the earlier messages, its state of the person, and their linked addresses.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const waiting: (() => void)[] = []

/** Waits until `count` turns are waiting here, and then releases all of them. */
async function untilAllAreHere(count: number): Promise<void> {
  await new Promise<void>(resolve => {
    waiting.push(resolve)
    if (waiting.length === count) for (const goOn of waiting.splice(0)) goOn()
  })
}

export async function handle(message: NormalizedMessage, { person, state }: AgentContext): Promise<string> {
  const text = message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join(' ')
  const memory = person?.state
  const storedTexts = ((await memory?.get()) as string[] | undefined) ?? []
  memory?.set((earlierTexts = []) => [...(earlierTexts as string[]), text])
  if (text.includes('at once')) await untilAllAreHere(Number(/\d+/.exec(text)?.[0]))
  state.set(text)
  const past = (message.history ?? []).flatMap(turn =>
    turn.parts.flatMap(part =>
      part.kind === 'text' && turn.role === 'user' ? [`${turn.via ?? '-'}: ${part.content}`] : [],
    ),
  )
  const linked = person?.addresses.map(({ via, address }) => `${via} ${address}`) ?? []
  return JSON.stringify({ past, storedTexts, knows: linked.length > 1 ? linked : [] })
}

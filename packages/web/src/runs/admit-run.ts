import type { Admitted, Inbound, Json } from '@postern/core'
import { Rejection, receive } from '@postern/core'
import type { WebDeps } from '../deps.ts'
import type { Conversation } from '../history/conversation.ts'
import { RunRepeated } from '../input/asked-run.ts'
import type { ProvenRun } from '../normalize.ts'
import { normalizeRun } from '../normalize.ts'
import type { SaidRun } from './arrival.ts'
import { recordRun } from './arrival.ts'
import type { Watched } from './follow-turn.ts'

/** Makes a person's message durable. @throws Rejection, Unavailable, RunRepeated */
export async function admitRun(said: SaidRun, deps: WebDeps): Promise<Watched> {
  const { asked, news, content, joined } = said
  const { owner, agent, input, document, place: reception, steps } = asked
  const { admission, store, platform, agents } = deps.gateway
  const { threadId, runId } = input
  const messageId = news.said.at(-1)?.id ?? `${runId}-input`
  const place = joined && { ...joined, target: await requireTarget(joined) }
  const of = { owner, agent, domain: agents.domain, threadId, runId, messageId }
  const arrival = recordRun(said)
  const run: ProvenRun = { ...of, content, document, former: news.former, arrival, at: platform.now(), joined: place }
  const inbound: Inbound<ProvenRun, ProvenRun> = {
    name: 'web',
    verify: async proven => proven,
    normalize: proven => [normalizeRun(proven)],
  }
  const [admitted] = await receive(inbound, run, { admission, store, platform, steps, ...reception }).catch(error => {
    throw error instanceof Rejection && error.code === 'replayed' ? new RunRepeated() : error
  })
  return { message: numberOf(admitted), task: { owner: owner.owner, id: runId }, askedAt: run.at }
}

async function requireTarget({ via, findTarget }: NonNullable<Conversation['joined']>): Promise<Json> {
  const target = await findTarget()
  if (target !== undefined) return target
  throw new Rejection('unsupported', `Cannot run: this conversation goes on only where it began (${via})`)
}

function numberOf(admitted: Admitted | undefined): number {
  if (admitted === undefined) throw new Error('the store admitted nothing')
  if (admitted.outcome !== 'accepted') throw new RunRepeated()
  return admitted.message
}

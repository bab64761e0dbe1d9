// Opens a gateway whose agents answer when the test allows it.
import type { ReceivedActivity } from '@postern/simulation'
import type { SlowRun } from '../agents/waiting/slow.ts'
import { shareSlowStore } from '../agents/waiting/slow.ts'
import type { TestGateway } from './gateway.ts'
import { openTestGateway } from './gateway.ts'

export interface SlowGateway extends TestGateway {
  /** Returns the next run that an agent begins, in the order of their beginnings. */
  nextRun(): Promise<SlowRun>
  /** Returns the number of runs that have begun and that no test has taken yet. */
  countRuns(): number
  /** Sends a post of Alice's to an agent, in one conversation per name. Returns its object's id once it is accepted. */
  post(agent: string, text: string, options?: PostOptions): Promise<string>
  edit(agent: string, object: string, text: string): Promise<number>
  remove(agent: string, object: string): Promise<number>
  /** Returns the text of every verified answer that actors received. */
  answers(): readonly string[]
  awaitAnswer(text: string): Promise<ReceivedActivity>
}

interface PostOptions {
  readonly from?: string
  readonly thread?: string
  readonly visibility?: 'public' | 'unlisted' | 'followers' | 'direct'
}

/** Opens a gateway whose agents (`module`: `slow.ts`) answer when the test allows it. */
export async function openSlowGateway(
  agents: Readonly<Record<string, Record<string, unknown>>>,
  settings: Record<string, unknown> = {},
): Promise<SlowGateway> {
  const startedRuns: SlowRun[] = []
  const pendingResolves: ((run: SlowRun) => void)[] = []
  shareSlowStore({
    begin(run) {
      const resolve = pendingResolves.shift()
      if (resolve) resolve(run)
      else startedRuns.push(run)
    },
  })
  const agentEntries = Object.entries(agents).map(([name, agent]) => [
    name,
    { use: '../agents/waiting/slow.ts', ...agent },
  ])
  const gateway = await openTestGateway(() => ({ agents: Object.fromEntries(agentEntries), ...settings }))
  const { fediverse } = gateway.simulation
  const posts = new Map<string, Record<string, unknown>>()
  const toAgent = (agent: string) => `@${agent}@agents.test`
  const textOf = ({ activity }: ReceivedActivity) =>
    String((activity.object as { content?: string } | undefined)?.content ?? '').replace(/<[^>]+>/g, '')

  return {
    ...gateway,
    nextRun: () => {
      const run = startedRuns.shift()
      return run ? Promise.resolve(run) : new Promise(resolve => pendingResolves.push(resolve))
    },
    countRuns: () => startedRuns.length,
    async post(agent, text, { from, thread = 'one', visibility = 'direct' } = {}) {
      const context = `https://mastodon.test/contexts/${thread}-${agent}`
      const { objectId, activity, status } = await fediverse.deliver({
        to: toAgent(agent),
        text,
        from,
        context,
        visibility,
      })
      if (status !== 202) throw new Error(`the post was answered with ${status}`)
      posts.set(objectId, activity.object as Record<string, unknown>)
      return objectId
    },
    async edit(agent, id, text) {
      const object = { ...posts.get(id), content: `<p>${text}</p>` }
      return (await fediverse.send({ to: toAgent(agent), type: 'Update', object })).status
    },
    async remove(agent, id) {
      const object = { id, type: 'Tombstone' }
      return (await fediverse.send({ to: toAgent(agent), type: 'Delete', object })).status
    },
    answers: () =>
      fediverse.received.filter(({ activity, verified }) => verified && activity.type === 'Create').map(textOf),
    awaitAnswer: text =>
      fediverse.awaitActivity(
        receivedActivity => receivedActivity.verified && textOf(receivedActivity).includes(text),
        30_000,
      ),
  }
}

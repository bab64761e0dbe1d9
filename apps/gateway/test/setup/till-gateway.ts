// Opens a gateway with a shop whose tool needs permission.
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openModelServer } from '@postern/agents/test-model-server'
import { expect } from 'vitest'
import { eventually } from './gateway.ts'
import type { KilledGateway } from './killed-gateway.ts'
import { openKilledGateway } from './killed-gateway.ts'
import { findActionPath, insist } from './requirement-steps.ts'
import { call, lastOf, replyWith } from './swarm-gateway.ts'

/** A shop whose model calls a tool that needs permission, and that records its beginning and its end. */
export interface TillGateway extends KilledGateway {
  post(text: string): Promise<{ readonly objectId: string }>
  /** Returns the answers to a post that repeat the till's result. */
  answersTo(objectId: string): readonly string[]
  /** Checks that the tool has run for an order at most once, and that the answer claims no more than is known. Returns the claim. */
  expectOneRefund(order: string, answer: string): 'made' | 'unknown'
  /** Returns the lines that the tool has recorded. */
  readTillLines(): readonly string[]
}

/** Opens the gateway. `shop` is added to the agent's configuration. */
export async function openTillGateway(shop: Readonly<Record<string, unknown>>): Promise<TillGateway> {
  const model = await openModelServer(request => {
    const lastText = lastOf(request)
    if (request.body.messages.at(-1)?.role === 'tool') return replyWith(`The till says ${lastText}`)
    return call('refund', { order: /please refund (\d+)/.exec(lastText)?.[1] ?? '' })
  })
  const directory = mkdtempSync(join(tmpdir(), 'postern-killed-'))
  const tillFile = join(directory, 'till')
  process.env.TILL = tillFile
  process.env.TILL_WAIT = '40'
  const tools = fileURLToPath(new URL('../agents/asking/till.ts', import.meta.url))
  const agents = { shop: { use: 'openai', base_url: model.baseUrl, model: 'test-model', tools, ...shop } }
  const gateway = await openKilledGateway({ overrides: { agents }, directory })
  const rings = () => readFileSync(tillFile, 'utf8').split('\n')
  return {
    ...gateway,
    post: text => gateway.simulation.fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' }),
    answersTo: objectId =>
      gateway.simulation.fediverse.received.flatMap(({ activity: { object } }) => {
        const note = object as { inReplyTo?: string; content?: string } | undefined
        return note?.inReplyTo === objectId && note.content?.includes('The till says') ? [note.content] : []
      }),
    readTillLines: rings,
    expectOneRefund(order, answer) {
      const beginCount = rings().filter(line => line === `begun ${order}`).length
      expect(beginCount).toBeLessThanOrEqual(1)
      if (!answer.includes('refunded')) {
        expect(answer).toContain('Whether it took effect is not known.')
        return 'unknown'
      }
      expect([beginCount, rings().includes(`done ${order}`)]).toEqual([1, true])
      return 'made'
    },
    async close() {
      delete process.env.TILL
      delete process.env.TILL_WAIT
      await gateway.close()
      await model.close()
    },
  }
}

/** A refund that somebody may allow at a path. */
type AskedRefund = Awaited<ReturnType<typeof askForRefund>>

/** Kills the gateway some time after a decision, starts it again, decides once more, and returns the answer. */
export async function answerAfterKill(
  setup: TillGateway,
  { objectId, path }: AskedRefund,
  { delayMs, decide }: { readonly delayMs: number; readonly decide: () => Promise<unknown> },
): Promise<string> {
  const { gateway, url } = setup
  const pendingResponse = decide().catch(() => undefined)
  await new Promise(resolve => setTimeout(resolve, delayMs))
  await gateway.kill()
  await pendingResponse
  await gateway.start()
  // A decision that was not durable is made again here.
  await insist(url, path)
  await eventually(async () => setup.answersTo(objectId).length > 0, 30_000)
  return setup.answersTo(objectId)[0] ?? ''
}

/** Asks for a refund, and returns the post and the path at which somebody can allow the refund. */
export async function askForRefund({ post, simulation }: TillGateway, order: number) {
  const { objectId } = await post(`please refund ${order}`)
  const { activity } = await simulation.fediverse.awaitReply(objectId, 30_000)
  return { objectId, path: findActionPath(JSON.stringify(activity.object)) }
}

/** Allows a refund, and all later ones. */
export function allowAlways({ url }: TillGateway, path: string): Promise<Response> {
  return fetch(url + path, { method: 'POST', body: new URLSearchParams({ decision: 'grant', remember: 'always' }) })
}

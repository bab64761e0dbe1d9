import { pathToFileURL } from 'node:url'
import type { ToolDefinition } from '@postern/agents'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { askShop, callShop, readAnswerText, readPolicy } from '../setup/requirement-steps.ts'
import { findBlock } from './blocks.ts'
import { agentBlocks } from './cases.ts'
import { createDocsFolder } from './folder.ts'

const codeOf = (name: keyof typeof agentBlocks) => findBlock(agentBlocks[name]).code

/** The files that an example leaves to its reader. */
const files = {
  'streaming.ts': codeOf('streaming'),
  'acting.ts': codeOf('acting'),
  'asking.ts': codeOf('asking'),
  'refusing.ts': `export function handle(message, context) {
${codeOf('refusing').replace('…', "{ message: 'Members only.' }")}
return 'Welcome.'
}`,
  'tools.ts': codeOf('tool'),
}

describe('the agents in the docs', () => {
  const folder = createDocsFolder(files)
  let gateway: TestGateway

  beforeAll(async () => {
    const use = (name: string) => ({ use: `${folder}/${name}.ts` })
    gateway = await openTestGateway(() => ({
      agents: {
        streaming: use('streaming'),
        acting: use('acting'),
        refusing: use('refusing'),
        shop: use('asking'),
      },
    }))
  })
  afterAll(() => gateway.close())

  it.each([
    ['streaming', 'activitypub', 'Looking that up… Nothing about hello.'],
    // On the fediverse, the beginning may arrive before it.
    ['acting', 'email', 'From nine to five.'],
    ['refusing', 'activitypub', 'Members only.'],
  ] as const)('%s answers as its page says', async (to, via, text) => {
    const { reply } = await gateway.simulation.send({ via, to, text: 'hello' })
    expect(reply?.text).toContain(text)
  })

  it('resume after consent if they asked for it', async () => {
    const response = await askShop(gateway, 'one cake')
    const { state } = readPolicy(response)
    const resolution = { in_reply_to_state: state, outcome: 'granted' }
    await askShop(gateway, 'yes', { taskId: response.task?.id ?? '', resolution })
    const readOutcome = () => askShopTask(gateway, response.task?.id ?? '')
    expect(await eventually(readOutcome)).toContain('Handed on.')
  })
})

interface Cart {
  readonly items: readonly string[]
}

async function askShopTask(gateway: TestGateway, id: string): Promise<string | false> {
  const { task, status } = await callShop(gateway, 'GetTask', { id })
  return task?.status.state === 'TASK_STATE_COMPLETED' && readAnswerText({ status, task })
}

async function importFrom(folder: string, name: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(`${folder}/${name}`).href)) as Record<string, unknown>
}

describe('the tools in the docs', () => {
  it('run for a model', async () => {
    const folder = createDocsFolder(files)
    const { opening_hours } = (await importFrom(folder, 'tools.ts')) as { opening_hours: ToolDefinition }
    const run = opening_hours.run as (input: { readonly day: string }) => unknown
    expect([run({ day: 'Sunday' }), run({ day: 'Monday' })]).toEqual([{ open: 'closed' }, { open: 'nine to six' }])
  })

  it('run for a swarm, with its compute', async () => {
    const folder = createDocsFolder({ 'till.ts': codeOf('swarmTool'), 'computes.ts': codeOf('swarmCompute') })
    const { total } = (await importFrom(folder, 'computes.ts')) as {
      total: { compute(states: { cart: Cart }): number }
    }
    const { add } = (await importFrom(folder, 'till.ts')) as { add: ToolDefinition }
    let cart: Cart = { items: [] }
    const set = async (change: (before: Cart) => Cart) => {
      cart = change(cart)
    }
    const swarm = {
      state: () => ({ set }),
      compute: () => ({ get: async () => total.compute({ cart }) }),
    }
    const run = add.run as (input: object, context: object) => Promise<unknown>
    await run({ item: 'cake' }, { swarm })
    expect(await run({ item: 'tea' }, { swarm })).toEqual({ total: 2 })
  })
})

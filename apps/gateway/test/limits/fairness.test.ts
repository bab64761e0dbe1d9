import { expect, test } from 'vitest'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

test('an agent that hangs under many messages does not keep others from answering', async () => {
  const gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' }, hanging: { use: '../agents/waiting/hanging.ts', deadline: '60s' } },
    a2a: { limits: { wait_seconds: 0.05 } },
  }))
  const { a2a } = gateway.simulation
  const deliveries = Array.from({ length: 150 }, (_, index) =>
    a2a.deliver({ url: `${gatewayOrigin}/agents/hanging/a2a`, text: `stuck ${index}` }),
  )
  await Promise.all(deliveries)
  const turnContext = await eventually(
    async () => (await gateway.messages()).filter(({ state }) => state === 'working').length || false,
  )
  expect(turnContext).toBeLessThanOrEqual(32)
  const { reply } = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'is anybody there?' })
  expect(reply?.text).toContain('is anybody there?')
  await gateway.close()
})

test('an idle agent gets a slot at once, however many others hang in theirs', async () => {
  const hanging = { use: '../agents/waiting/hanging.ts', deadline: '60s' }
  const names = ['one', 'two', 'three', 'four', 'five']
  const gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' }, ...Object.fromEntries(names.map(name => [name, hanging])) },
    a2a: { limits: { wait_seconds: 0.05 } },
  }))
  const { a2a } = gateway.simulation
  const crowd = names.flatMap(name =>
    Array.from({ length: 34 }, (_, index) =>
      a2a.deliver({ url: `${gatewayOrigin}/agents/${name}/a2a`, text: `${index}` }),
    ),
  )
  await Promise.all(crowd)
  const countWorking = async () =>
    (await gateway.requestOperator<{ messages: { working: number } }>('/status')).messages.working
  await eventually(async () => (await countWorking()) === 160)
  const { reply } = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'is anybody there?' })
  expect(reply?.text).toContain('is anybody there?')
  await gateway.close()
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'

let people: PeopleTestGateway
beforeAll(async () => {
  const agentConfig = {
    use: '../agents/people/endless.ts',
    deadline: '1s',
    people: { link: true, share: 'history+state' },
  }
  people = await openPeopleGateway({ agents: { desk: agentConfig } })
})
afterAll(() => people.close())

test('a state function that never ends fails its turn at the agent’s deadline, and the next turn runs', async () => {
  await people.linkMail()
  expect((await people.askByPost('hello')).text).toContain('known')
  expect((await people.askByPost('endless, please')).text).toContain('Sorry')
  expect((await people.askByPost('hello again')).text).toContain('known')
}, 60_000)

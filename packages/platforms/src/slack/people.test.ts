import { expect, test } from 'vitest'
import type { SlackUser, SlackWriter } from './people.ts'
import { createPeople } from './people.ts'

const writer: SlackWriter = { id: 'U1', team: 'T1', isUnlistedBot: false }

function openPeople(user: SlackUser) {
  let time = 0
  const reads: string[] = []
  const findPerson = createPeople({
    system: { now: () => time },
    async readUser(id) {
      reads.push(id)
      return user
    },
  })
  return { findPerson, reads, advance: (ms: number) => (time += ms) }
}

test.each([
  ['a member', { team_id: 'T1' }, {}, 'member', 'slack:T1/U1'],
  ['a guest of several channels', { team_id: 'T1', is_restricted: true }, {}, 'guest', 'slack:T1/U1'],
  ['a guest of one channel', { team_id: 'T1', is_ultra_restricted: true }, {}, 'guest', 'slack:T1/U1'],
  ['somebody by Slack Connect', { team_id: 'T2' }, {}, 'external', 'slack:T2/U1'],
  ['a stranger', { is_stranger: true }, { writerTeam: 'T2' }, 'external', 'slack:T2/U1'],
  ['a guest of another workspace', { team_id: 'T2', is_restricted: true }, {}, 'external', 'slack:T2/U1'],
  ['a program', { team_id: 'T1', is_bot: true }, {}, 'bot', 'slack:T1/U1'],
  ['a program in the name of a member', { team_id: 'T1' }, { isProgram: true }, 'bot', 'slack:T1/U1'],
  [
    'a member of the same organization',
    { team_id: 'T2', enterprise_user: { enterprise_id: 'E1' } },
    { enterprise: 'E1' },
    'member',
    'slack:T2/U1',
  ],
  [
    'a member of another organization',
    { team_id: 'T2', enterprise_user: { enterprise_id: 'E2' } },
    { enterprise: 'E1' },
    'external',
    'slack:T2/U1',
  ],
])('%s has its own assurance', async (_, user, facts, assurance, subject) => {
  const { findPerson } = openPeople(user)
  expect(await findPerson({ ...writer, ...facts })).toMatchObject({ assurance, subject })
})

test('names go to the profile only, and addresses consist of ids', async () => {
  const { findPerson } = openPeople({ team_id: 'T1', name: 'ann', locale: 'de-AT', profile: { display_name: 'Ann' } })
  expect(await findPerson(writer)).toMatchObject({
    address: '@u1@t1.slack',
    profile: { display_name: 'Ann', username: 'ann', locale: 'de-AT', provider_subject: 'slack:T1/U1' },
  })
})

test('a bot without a user needs no question to Slack', async () => {
  const { findPerson, reads } = openPeople({})
  const bot = { ...writer, id: 'B1', isUnlistedBot: true }
  expect(await findPerson(bot)).toMatchObject({ assurance: 'bot', subject: 'slack:T1/B1' })
  expect(reads).toEqual([])
})

test('an answer of Slack counts for ten minutes', async () => {
  const { findPerson, reads, advance } = openPeople({ team_id: 'T1' })
  await Promise.all([findPerson(writer), findPerson(writer)])
  advance(9 * 60_000)
  await findPerson(writer)
  expect(reads).toHaveLength(1)
  advance(2 * 60_000)
  await findPerson(writer)
  expect(reads).toHaveLength(2)
})

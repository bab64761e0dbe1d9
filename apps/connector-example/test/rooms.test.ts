import { Rejection } from '@postern/message'
import { expect, test } from 'vitest'
import { dropOwnName, findMentions } from '../src/agents/turn.ts'
import { defaultLimits } from '../src/config.ts'
import { createRooms } from '../src/rooms/rooms.ts'

const limits = { ...defaultLimits, rooms: 3, peoplePerRoom: 2, entriesPerRoom: 2 }
const author = { kind: 'person', id: 'ann-1', name: 'Ann' } as const

test('a new chat room replaces only an empty one', () => {
  const rooms = createRooms(limits, () => 0)
  for (const name of ['lobby', 'one', 'two']) rooms.open(name)
  rooms.open('one').addEntry({ author, text: 'here' })
  rooms.open('three').addEntry({ author, text: 'here' })
  expect(rooms.list().map(({ name }) => name)).toEqual(['lobby', 'one', 'three'])
  expect(() => rooms.open('four')).toThrow(new Rejection('forbidden', 'There are enough rooms'))
})

test('a room shows the latest people and entries', () => {
  const room = createRooms(limits, () => 0).open('lobby')
  for (const id of ['a', 'b', 'a', 'c']) room.enter({ id, name: id })
  expect([...room.people.keys()]).toEqual(['a', 'c'])
  for (const text of ['one', 'two', 'three']) room.addEntry({ author, text })
  expect(room.listEntriesAfter(0).map(({ text }) => text)).toEqual(['two', 'three'])
  expect(room.listEntriesAfter(2).map(({ text }) => text)).toEqual(['three'])
})

test('an update of an entry that the room has dropped has no effect', () => {
  const room = createRooms(limits, () => 0).open('lobby')
  const { id } = room.addEntry({ author, text: 'one' })
  for (const text of ['two', 'three']) room.addEntry({ author, text })
  room.updateEntry(id, { text: 'again' })
  expect(room.listEntriesAfter(0).map(({ text }) => text)).toEqual(['two', 'three'])
})

test.each([
  ['@echo hi', ['@echo@agents.test']],
  ['@Echo@Agents.Test, @echo: and (@help@agents.test).', ['@echo@agents.test', '@help@agents.test']],
  ['write to ann@agents.test or https://x.test/@echo@agents.test', []],
  ['@a@b @a@localhost @@echo @', []],
  ['> @echo said\n  > @help\nhi @desk@b\u00fccher.test', ['@desk@xn--bcher-kva.test']],
  ['@echo@agents.test...', ['@echo@agents.test']],
])('findMentions() finds the mentioned agents in %j', (text, expected) => {
  expect(findMentions(text, 'agents.test')).toEqual(expected)
})

test('findMentions() without a default domain accepts only complete addresses', () => {
  expect(findMentions('@echo @help@agents.test', undefined)).toEqual(['@help@agents.test'])
})

test.each([
  ['blank lines', '\n'.repeat(400_000)],
  ['blanks', ' '.repeat(400_000)],
  ['dots', `@a@${'.'.repeat(300)}`.repeat(1_000)],
  ['halves of addresses', '@a@b-'.repeat(80_000)],
])('findMentions() handles a text of nothing but %s in time', (_, hostileText) => {
  expect(findMentions(hostileText, undefined).length).toBeLessThan(2)
})

test('dropOwnName() removes the agent’s name only from the start', () => {
  expect(dropOwnName('@echo@agents.test: hi @echo', '@echo@agents.test')).toBe('hi @echo')
  expect(dropOwnName('@echo, hi', '@echo@agents.test')).toBe('hi')
  expect(dropOwnName('@help hi', '@echo@agents.test')).toBe('@help hi')
  expect(dropOwnName('@echo', '@echo@agents.test')).toBe('@echo')
})

import { Rejection, Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { createBodyBudget } from './body-budget.ts'

const refusal = 'Cannot take request: too much at once'
const kib = 1024
/** 128 KiB for small bodies; of the other 896, a channel may take 448, and an address 224. */
const open = () => createBodyBudget({ maxBytes: 1_024 * kib, refusal })
const createTimeout = () => AbortSignal.timeout(10_000)

test('a channel may use half of the memory for large bodies, and the other channels the rest', () => {
  const bodies = open()
  bodies
    .forChannel('email')
    .reserve('a')
    .add(220 * kib)
  bodies
    .forChannel('email')
    .reserve('b')
    .add(220 * kib)
  expect(() =>
    bodies
      .forChannel('email')
      .reserve('c')
      .add(70 * kib),
  ).toThrow(new Unavailable(refusal, { retryAfter: 30 }))
  bodies
    .forChannel('a2a')
    .reserve('c')
    .add(220 * kib)
})

test('one address may use half of the memory of a channel', () => {
  const email = open().forChannel('email')
  email.reserve('a').add(200 * kib)
  expect(() => email.reserve('a').add(70 * kib)).toThrow(new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  email.reserve('b').add(200 * kib)
})

test('small bodies have memory that large bodies cannot use', () => {
  const bodies = open()
  for (const channel of ['email', 'a2a'])
    for (const owner of ['a', 'b'])
      bodies
        .forChannel(channel)
        .reserve(owner)
        .add(224 * kib)
  expect(() =>
    bodies
      .forChannel('web')
      .reserve('c')
      .add(70 * kib),
  ).toThrow(refusal)
  expect(bodies.isFull()).toBe(false)
  bodies
    .forChannel('email')
    .reserve('a')
    .add(20 * kib)
  bodies
    .forChannel('web')
    .reserve('c')
    .add(20 * kib)
  // A body that grows is small no more.
  const growing = bodies.forChannel('web').reserve('d')
  growing.add(30 * kib)
  expect(() => growing.add(60 * kib)).toThrow(refusal)
  growing.release()
})

test('the budget is full when not even a small body fits', () => {
  const bodies = open()
  for (const channel of ['email', 'a2a'])
    for (const owner of ['a', 'b'])
      bodies
        .forChannel(channel)
        .reserve(owner)
        .add(224 * kib)
  const smallHolds = ['web', 'activitypub'].flatMap(channel =>
    ['a', 'b'].map(owner => bodies.forChannel(channel).reserve(owner)),
  )
  for (const hold of smallHolds) hold.add(32 * kib)
  expect(bodies.isFull()).toBe(true)
  expect(() => bodies.forChannel('web').reserve('c').add(kib)).toThrow(refusal)
  for (const hold of smallHolds) hold.release()
  expect(bodies.isFull()).toBe(false)
})

test('bodies that grow in parallel never wait for each other forever', async () => {
  const email = open().forChannel('email')
  const [first, second] = [email.reserve('a'), email.reserve('a')]
  first.add(100 * kib)
  second.add(100 * kib)
  const acquisition = second.acquire(100 * kib, createTimeout())
  await first.acquire(400 * kib, createTimeout())
  first.release()
  await acquisition
})

test('the budget refuses a body after the abort of its wait, and reserves nothing for it', async () => {
  const email = open().forChannel('email')
  const first = email.reserve('a')
  first.add(200 * kib)
  const time = new AbortController()
  const acquisition = email.reserve('a').acquire(100 * kib, time.signal)
  time.abort()
  await expect(acquisition).rejects.toThrow(new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  first.release()
  email.reserve('a').add(200 * kib)
})

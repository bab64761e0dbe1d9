import { expect, test } from 'vitest'
import { findDeliveryGroup, findShareGroup, mailGroup } from './delivery-group.ts'

test.each([
  ['https://push.test:8443/hook', 'push.test'],
  ['HTTPS://Push.test/inbox', 'push.test'],
  ['http://[::1]:9/x', '[::1]'],
  ['ann@mail.test', mailGroup],
  ['@ann@social.test', undefined],
  ['x', undefined],
])('findDeliveryGroup() puts %s into the group "%s"', (to, group) => {
  expect(findDeliveryGroup(to)).toBe(group)
})

test('findShareGroup() counts a caller’s URL for the caller, and any other one for its host', () => {
  const groupOf = (owner: string, to: string) => findShareGroup({ to, target: { watch: 'w', owner, id: 't' } })
  expect(groupOf('ann', 'https://a.test/')).toBe(groupOf('ann', 'https://b.test/'))
  expect(groupOf('ann', 'https://a.test/')).not.toBe(groupOf('bob', 'https://a.test/'))
  const groups = new Set(Array.from({ length: 2_000 }, (_, at) => groupOf(`caller ${at}`, 'https://a.test/')))
  expect(groups.size).toBe(32)
  for (const target of [null, { inbox: 'x' }, { watch: 'w' }])
    expect(findShareGroup({ to: 'https://a.test:8080/', target })).toBe('a.test')
})

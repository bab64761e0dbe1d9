import { expect, test } from 'vitest'
import { findReleaseFaults } from './publication.ts'

test.each([
  ['nothing', {}],
  ['an empty address', { repository: '' }],
  ['an object without an address', { repository: { type: 'git' } }],
])('the check refuses a release whose repository is %s', (_, manifest) => {
  expect(findReleaseFaults(manifest)).toEqual([
    expect.stringMatching(/^Cannot release: package\.json names no "repository".* Set it to the address/),
  ])
})

test('a release may name its repository in each form that npm knows', () => {
  const url = 'git+https://code.example/postern.git'
  expect(findReleaseFaults({ repository: url })).toEqual([])
  expect(findReleaseFaults({ repository: { type: 'git', url } })).toEqual([])
})

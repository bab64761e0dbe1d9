import { expect, test } from 'vitest'
import { describeShare } from './cpu-share.ts'

test('describeShare() formats a CPU limit for cgroup v1 and v2', () => {
  expect(describeShare('v1', 0.2)).toEqual([
    ['cpu.cfs_period_us', '20000'],
    ['cpu.cfs_quota_us', '4000'],
  ])
  expect(describeShare('v2', 0.2)).toEqual([['cpu.max', '4000 20000']])
})

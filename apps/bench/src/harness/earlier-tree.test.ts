import { expect, test } from 'vitest'
import { openEarlierTree } from './earlier-tree.ts'

test.each(['no-such-branch', '--force', ''])('openEarlierTree() rejects %j, which is not a commit', async commit => {
  await expect(openEarlierTree(commit)).rejects.toThrow(
    new TypeError(`--against "${commit}" is no commit here. "git log --oneline" lists those there are.`),
  )
})

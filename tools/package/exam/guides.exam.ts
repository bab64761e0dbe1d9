// Checks the TypeScript examples of the guides against the types of the installed package.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { findGuideFaults, plantedFault } from '../../../apps/gateway/test/docs/guide-faults.ts'

const installed = join(inject('installation').folder, 'node_modules/postern')

test('every TypeScript example of the guides matches the types of the installed package', { timeout: 300_000 }, () => {
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<'.' | './testing', { readonly types: string }>>
  }
  const entries = {
    postern: join(installed, exports['.'].types),
    'postern/testing': join(installed, exports['./testing'].types),
  }
  expect(findGuideFaults(entries)).toEqual([plantedFault])
})

import { expect, test } from 'vitest'
import { findServedType } from './media-kind.ts'

const saved = { type: 'application/octet-stream', isShown: false }

test.each([
  ['image/png', { type: 'image/png', isShown: true }],
  ['Image/PNG; name="x.png"', { type: 'image/png', isShown: true }],
  ['image/png+xml', saved],
  ['image/pngx', saved],
  ['image/svg+xml', saved],
  ['audio/x, text/html', saved],
  ['video/', saved],
  ['audio/midi', saved],
  ['text/html', saved],
  ['', saved],
  [undefined, saved],
])('the server serves a stored file with the name %j by the whole of its type', (mime, served) => {
  expect(findServedType(mime)).toEqual(served)
})

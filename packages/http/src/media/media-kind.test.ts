import { expect, test } from 'vitest'
import { detectMedia, findServedType } from './media-kind.ts'

const download = { type: 'application/octet-stream', isInline: false }

test.each([
  ['image/png', { type: 'image/png', isInline: true }],
  ['Image/PNG; name="x.png"', { type: 'image/png', isInline: true }],
  ['image/png+xml', download],
  ['image/pngx', download],
  ['image/svg+xml', download],
  ['audio/x, text/html', download],
  ['video/', download],
  ['audio/midi', download],
  ['text/html', download],
  ['', download],
  [undefined, download],
])('the server serves a stored file with the name %j under its complete type', (mime, served) => {
  expect(findServedType(mime)).toEqual(served)
})

test.each([
  ['RIFF....WEBPVP8 ', 'image/webp'],
  ['<script>WEBP', 'text/plain'],
  ['RIFF....WAVEfmt ', 'audio/wav'],
  ['....ftypavif', 'image/avif'],
  ['....ftypmp42', 'video/mp4'],
  ['GIF87a', 'image/gif'],
  ['GIF88a', 'text/plain'],
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xfb\x90', 'audio/mpeg'],
  ['ID3\x04', 'audio/mpeg'],
  ['', 'application/octet-stream'],
])('detection recognizes the bytes %j as %s', (beginning, mime) => {
  expect(detectMedia(Buffer.from(beginning, 'latin1'))).toBe(mime)
})

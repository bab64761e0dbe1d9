/** QR codes (ISO/IEC 18004), byte mode, error correction level L, versions 1 to 6: up to 134 bytes. */

/** For each version: bytes of data in a block, blocks, bytes of error correction in a block. @type {readonly (readonly [number, number, number])[]} */
const versions = [
  [19, 1, 7],
  [34, 1, 10],
  [55, 1, 15],
  [80, 1, 20],
  [108, 1, 26],
  [68, 2, 18],
]

/** Level L with mask 0, as format information with its correction bits (table C.1). */
const format = 0b111011111000100

/** Powers and logarithms in GF(256) with 0x11d. */
const { powers, logs } = (() => {
  const powers = new Uint8Array(512)
  const logs = new Uint8Array(256)
  for (let at = 0, value = 1; at < 255; at += 1) {
    powers[at] = value
    powers[at + 255] = value
    logs[value] = at
    value = value < 128 ? value * 2 : (value * 2) ^ 0x11d
  }
  return { powers, logs }
})()

/** @param {number} one @param {number} other */
function multiply(one, other) {
  return one === 0 || other === 0 ? 0 : (powers[(logs[one] ?? 0) + (logs[other] ?? 0)] ?? 0)
}

/** Remainder of the data by the generator polynomial. @param {readonly number[]} data @param {number} count */
function correct(data, count) {
  let generator = [1]
  for (let at = 0; at < count; at += 1) {
    const next = [...generator, 0]
    for (const [index, value] of generator.entries())
      next[index + 1] = (next[index + 1] ?? 0) ^ multiply(value, powers[at] ?? 0)
    generator = next
  }
  const rest = [...data, ...Array(count).fill(0)]
  for (let at = 0; at < data.length; at += 1) {
    const factor = rest[at] ?? 0
    for (const [index, value] of generator.entries()) rest[at + index] ^= multiply(value, factor)
  }
  return rest.slice(data.length)
}

/** Length, bytes and padding of the text. @param {Uint8Array} bytes @param {number} capacity */
function writeData(bytes, capacity) {
  const bits = [0, 1, 0, 0]
  for (let bit = 7; bit >= 0; bit -= 1) bits.push((bytes.length >> bit) & 1)
  for (const byte of bytes) for (let bit = 7; bit >= 0; bit -= 1) bits.push((byte >> bit) & 1)
  for (let end = 0; end < 4 && bits.length < capacity * 8; end += 1) bits.push(0)
  while (bits.length % 8 > 0) bits.push(0)
  const data = []
  for (let at = 0; at < bits.length; at += 8) data.push(bits.slice(at, at + 8).reduce((sum, bit) => sum * 2 + bit, 0))
  for (let pad = 0xec; data.length < capacity; pad ^= 0xfd) data.push(pad)
  return data
}

/** @param {readonly number[]} data @param {readonly [number, number, number]} version */
function interleave(data, [length, blocks, count]) {
  const parts = Array.from({ length: blocks }, (_, at) => data.slice(at * length, (at + 1) * length))
  const corrections = parts.map(part => correct(part, count))
  const mixed = []
  for (let at = 0; at < length; at += 1) for (const part of parts) mixed.push(part[at] ?? 0)
  for (let at = 0; at < count; at += 1) for (const part of corrections) mixed.push(part[at] ?? 0)
  return mixed
}

/** @typedef {(boolean | undefined)[][]} Grid undefined: free for data */

/** @param {Grid} grid @param {number} x @param {number} y @param {number} size @param {(distance: number) => boolean} isDark */
function drawSquare(grid, x, y, size, isDark) {
  const half = (size - 1) / 2
  for (let dy = -half; dy <= half; dy += 1)
    for (let dx = -half; dx <= half; dx += 1) {
      const row = grid[y + dy]
      if (row && x + dx >= 0 && x + dx < grid.length) row[x + dx] = isDark(Math.max(Math.abs(dx), Math.abs(dy)))
    }
}

/** Finder, alignment and timing patterns, and the format. @param {number} version */
function drawFrame(version) {
  const size = 17 + 4 * version
  /** @type {Grid} */
  const grid = Array.from({ length: size }, () => Array(size).fill(undefined))
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ])
    drawSquare(
      grid,
      /** @type {number} */ (x),
      /** @type {number} */ (y),
      9,
      distance => distance !== 2 && distance !== 4,
    )
  if (version > 1) drawSquare(grid, size - 7, size - 7, 5, distance => distance !== 1)
  const set = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ isDark) => {
    const row = grid[y]
    if (row) row[x] = isDark
  }
  for (let at = 8; at < size - 8; at += 1) {
    set(at, 6, at % 2 === 0)
    set(6, at, at % 2 === 0)
  }
  for (let bit = 0; bit < 15; bit += 1) {
    const isDark = ((format >> bit) & 1) === 1
    set(8, bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit, isDark)
    set(bit < 8 ? size - 1 - bit : bit === 8 ? 7 : 14 - bit, 8, isDark)
  }
  set(8, size - 8, true)
  return grid
}

/** Places in the order in which data is written: from the right, two columns at a time, up and down. @param {number} size */
function* listPlaces(size) {
  for (let pair = 0; pair < (size - 1) / 2; pair += 1) {
    // The column of the timing pattern belongs to no pair.
    const right = size - 1 - 2 * pair - (2 * pair > size - 8 ? 1 : 0)
    for (let step = 0; step < size; step += 1) {
      const y = pair % 2 === 0 ? size - 1 - step : step
      yield/** @type {const} */ ([right, y])
      yield/** @type {const} */ ([right - 1, y])
    }
  }
}

/** Puts the bits into the free places, through mask 0. @param {Grid} grid @param {readonly number[]} bytes */
function fill(grid, bytes) {
  let at = 0
  for (const [x, y] of listPlaces(grid.length)) {
    const row = grid[y]
    if (!row || row[x] !== undefined) continue
    const bit = ((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1
    at += 1
    row[x] = (bit === 1) !== ((x + y) % 2 === 0)
  }
}

/** Rows of a QR code, dark ones true; undefined for a text that is too long. @param {string} text */
export function encodeQr(text) {
  const bytes = new TextEncoder().encode(text)
  const index = versions.findIndex(([length, blocks]) => length * blocks >= bytes.length + 2)
  const version = versions[index]
  if (!version) return undefined
  const grid = drawFrame(index + 1)
  fill(grid, interleave(writeData(bytes, version[0] * version[1]), version))
  return grid.map(row => row.map(cell => cell === true))
}

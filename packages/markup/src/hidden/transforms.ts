import type { Styles } from '../css/cascade.ts'
import type { LengthBase } from '../css/lengths.ts'
import { toPixels } from '../css/lengths.ts'

interface TransformFunction {
  readonly name: string
  readonly values: readonly string[]
}

/** CSS Transforms 1 and 2, of which a few hide text. */
function listFunctions(styles: Styles): readonly TransformFunction[] {
  const written = [styles.get('transform'), styles.get('-webkit-transform'), styles.get('-ms-transform')].join(' ')
  const single = ['scale', 'translate', 'rotate'].flatMap(name => {
    const value = styles.get(name)
    return value ? [{ name, values: value.split(/\s+/) }] : []
  })
  const found = [...written.slice(0, 1024).matchAll(/([a-z0-9]{1,12})\(([^()]{0,300})\)/g)]
  return [
    ...single,
    ...found.map(([, name = '', inner = '']) => ({ name, values: inner.split(/[\s,]+/).filter(Boolean) })),
  ]
}

/** The smaller of the two directions: 0 for what is turned to its edge. */
export function readScale(styles: Styles): number {
  return listFunctions(styles).reduce((scale, each) => scale * scaleOf(each), 1)
}

function scaleOf({ name, values }: TransformFunction): number {
  const numbers = values.map(value => Number.parseFloat(value) * (value.endsWith('%') ? 0.01 : 1))
  if (/^scale(?:3d|x|y)?$/.test(name)) return leastOf(numbers.slice(0, 2))
  if (name === 'matrix')
    return leastOf([Math.hypot(numbers[0] ?? 1, numbers[1] ?? 0), Math.hypot(numbers[2] ?? 0, numbers[3] ?? 1)])
  if (name === 'matrix3d') return leastOf([numbers[0] ?? 1, numbers[5] ?? 1])
  if (name === 'rotatex' || name === 'rotatey') return Math.abs(Math.cos(toRadians(values[0] ?? '0')))
  return 1
}

function leastOf(numbers: readonly number[]): number {
  const sizes = numbers.map(Math.abs).filter(Number.isFinite)
  return sizes.length > 0 ? Math.min(...sizes) : 1
}

function toRadians(angle: string): number {
  const value = Number.parseFloat(angle) || 0
  if (angle.endsWith('turn')) return value * 2 * Math.PI
  if (angle.endsWith('rad')) return angle.endsWith('grad') ? (value * Math.PI) / 200 : value
  return (value * Math.PI) / 180
}

/** In pixels, to the right and down. */
export function readTranslation(styles: Styles, base: LengthBase): { readonly x: number; readonly y: number } {
  let [x, y] = [0, 0]
  for (const { name, values } of listFunctions(styles)) {
    const [first = 0, second = 0] = values.map(value => toPixels(value, base) ?? 0)
    if (name === 'translatey') y += first
    else if (/^translate(?:3d|x)?$/.test(name)) x += first
    if (name === 'translate' || name === 'translate3d') y += second
    if (name === 'matrix') [x, y] = [x + (Number(values[4]) || 0), y + (Number(values[5]) || 0)]
  }
  return { x, y }
}

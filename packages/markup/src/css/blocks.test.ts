import { measureGrowth } from '@postern/testing/growth'
import { describe, expect, test } from 'vitest'
import { htmlToText } from '../html/html-to-text.ts'
import { parseDeclarations, parseRules } from './blocks.ts'

const isKept = () => true

/** Each expected result is that of Chromium for the same style. */
describe('a style attribute', () => {
  test.each([
    ['content: "\\"";display:none', ''],
    ["x:url(a'b);display:none", ''],
    ['\\64 isplay:n\\6f ne', ''],
    ['display/**/:/*;*/none', ''],
    ['a b;display:none', ''],
    ['.b{x:y};display:none', ''],
    ['display:none;display:x', ''],
    ['display:none;display:none#!important', ''],
    ['visibility:hidden;visibility:shown', ''],
    ['font-size:0;font-size:14qq', ''],
    ['font-size:0;font-size:-4px', ''],
    ['display:none;display:none#(', ''],
    ['opacity:0;opacity:full', ''],
    ['display:none;display:inline flow-root', 'text'],
    ['display:none;display:revert', 'text'],
    ['font-size:0;font-size:1.2em', 'text'],
    ['opacity:0;opacity:50%', 'text'],
    ['x:\\3b display:none', 'text'],
    ['x:[;display:none', 'text'],
    ['x:"\\\n;display:none', 'text'],
    ['display:no/**/ne', 'text'],
    ['@x{display:none}', 'text'],
  ])('%j leaves "%s" after parsing', (style, text) => {
    expect(htmlToText(`<p style="${style.replaceAll('"', '&quot;')}">text</p>`).text).toBe(text)
  })
})

/** Each expected result is that of Chromium for the same sheet. */
describe('a style sheet', () => {
  test.each([
    ['@media screen{.a{content:"}@media print{{"}.b{display:none}}', ''],
    ['.a{x:url(})}.b{display:none}', ''],
    ['.a[x="{"]{}.b{display:none}', ''],
    ['<!-- .b{display:none} -->', ''],
    ['div{.b{display:none}}', ''],
    ['.b{&{display:none}}', ''],
    ['.b{@media screen{display:none}}', ''],
    ['.b{x:y{};display:none}', ''],
    ['.b{display:none', ''],
    ['& .b{display:none}', ''],
    ['.a{(}.b{display:none}', 'text'],
    ['x;.b{display:none}', 'text'],
    ['.b,#{display:none}', 'text'],
    ['.b{{;display:none}}', 'text'],
    ['.a{.b{display:none}}', 'text'],
    ['@media print{.b{display:none}}', 'text'],
  ])('%j leaves "%s" after parsing', (sheet, text) => {
    expect(htmlToText(`<style>${sheet}</style><div><p class="b">text</p></div>`).text).toBe(text)
  })
})

test('parseDeclarations() reads names, values and importance', () => {
  expect(parseDeclarations('COLOR : Red ! Important; --x: {a:b}; background:url("A;b")', isKept)).toEqual([
    { name: 'color', value: 'red', isImportant: true },
    { name: '--x', value: '{a:b}', isImportant: false },
    { name: 'background', value: 'url("a;b")', isImportant: false },
  ])
})

test('parseRules() combines the selectors of nested rules', () => {
  const rules = parseRules('.a, .b { x: 1; & > i, .c & { y: 2 } }', {
    isRelevant: isKept,
    appliesTo: () => true,
    maxRules: 9,
  })
  expect(rules.map(({ selectors }) => selectors)).toEqual(['.a, .b', ':is(.a, .b) > i, .c :is(.a, .b)'])
})

test.each([
  'a:b{}',
  'a:b;',
  'a{',
  '{',
  '}',
  '(',
  '"',
  '&{',
  '&,',
  '@media{',
  '@',
  '/*',
  '\\',
  ':',
  'url(',
  'a:b c{x:y}',
])('parsing CSS of many %j takes linear time', piece => {
  const choice = { isRelevant: isKept, appliesTo: () => true, maxRules: 4000 }
  expect(measureGrowth(text => parseRules(`.x{${text}`, choice), piece, 60_000)).toBeLessThan(30)
  expect(measureGrowth(text => parseDeclarations(text, isKept), piece, 60_000)).toBeLessThan(30)
})

import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { htmlToText } from './html-to-text.ts'

test.each([
  ['a power', '<p>10<sup>6</sup> grains</p>', '10^6 grains'],
  ['a negative power', '10<sup>-3</sup> m', '10^-3 m'],
  ['a power of several signs', 'x<sup>2n + 1</sup>', 'x^(2n + 1)'],
  ['an index', 'H<sub>2</sub>O and a<sub>n+1</sub>', 'H_2O and a_(n+1)'],
  ['an ordinal', 'the 3<sup>rd</sup>, le 1<sup>er</sup>', 'the 3rd, le 1er'],
  ['a note with brackets', 'fact<sup><a href="https://a.test/#1">[1]</a></sup>', 'fact[1] (https://a.test/#1)'],
  ['a note at the beginning', '<p><sup>1</sup> Note</p>', '1 Note'],
  [
    'a picture',
    '<p>See <img src="https://a.test/s.png" alt="Sales by month" width="400"> please</p>',
    'See [Sales by month] please',
  ],
  ['a picture alone', '<p><img src="https://a.test/c.png" alt="A cat asleep"></p>', '[A cat asleep]'],
  ['a picture without a text', 'a <img src="https://a.test/c.png" alt=""> b <img src="x">', 'a b'],
  ['a picture of one dot', 'a<img src="https://a.test/t.gif" alt="track me" width="1" height="1">', 'a'],
  ['a hidden picture', 'a<img style="display:none" alt="obey">', 'a'],
  ['an emoji as a picture', 'hi <img class="emoji" alt="😀">', 'hi 😀'],
  [
    'a link that is a picture',
    '<a href="https://a.test/pay"><img src="b.png" alt="Pay now"></a>',
    'Pay now (https://a.test/pay)',
  ],
  ['words that are struck out', '<p>Price: <del>12 EUR</del> 10 EUR</p>', 'Price: ~~12 EUR~~ 10 EUR'],
  ['the same by other elements', '<s>a</s> <strike>b</strike> <ins>c</ins>', '~~a~~ ~~b~~ c'],
  ['paragraphs that are struck out', '<del><p>one</p><p>two</p></del>', '~~one~~\n\n~~two~~'],
  ['a quotation with words struck out', '<blockquote>a<br><del>b</del></blockquote>', '> a\n> ~~b~~'],
  ['a ruby', '<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字', '漢(かん)字'],
  ['a ruby without end tags', '<ruby>漢<rt>かん<rb>字<rt>じ</ruby>!', '漢(かん)字(じ)!'],
  [
    'boxes',
    '<ul><li><input type="checkbox" checked> a</li><li><input type=checkbox disabled>b</li></ul>',
    '- [x] a\n- [ ] b',
  ],
  ['fields that are no boxes', 'a<input type="text" value="secret">b', 'ab'],
  [
    'a formula by its annotation',
    'So <math><semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">E=mc^2</annotation></semantics></math>.',
    'So E=mc^2.',
  ],
  ['a formula of Wikipedia', '<math alttext="{\\displaystyle a+b}"><mi>a</mi></math>', 'a+b'],
  ['a formula without one', '<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>', 'E=mc^2'],
  ['a fraction', '<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>', '(a+b)/2'],
  [
    'a formula of KaTeX once',
    '<span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span>x</span></span></span> y',
    'x y',
  ],
])('htmlToText() keeps the meaning of %s', (_, html, text) => {
  expect(htmlToText(html)).toEqual({
    text,
    hasHidden: text === 'a' && html.includes('obey') ? expect.any(Boolean) : false,
  })
})

test.each([
  '<sup>',
  '<sup>2</sup>',
  '<del>',
  '<del>a</del>',
  '<rt>',
  '<ruby>a<rt>b',
  '<math>',
  '<msup>',
  '<math><msup><mi>',
  '<img alt="a">',
  '<del><p>a',
])('htmlToText() takes linear time for many %s', piece => {
  expect(measureGrowth(text => htmlToText(`a<math>${text}`), piece, 64_000)).toBeLessThan(30)
  expect(measureGrowth(text => htmlToText(`a${text}`), piece, 64_000)).toBeLessThan(30)
})
